// A table or figure of a paper that a study computes.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "core/config/dense.h"
#include "results/papers/line.h"
#include "results/papers/table.h"
#include "results/records/lossy_data.h"

namespace approx {
namespace {

// A line of the study.
struct LayerTime {
  std::string layer, product, method;
  double ms = 0;
  std::optional<double> estimated_ms;
};

// The lines of its convolutions; none where the study is of a time before it knew methods.
std::vector<LayerTime> convolution_times(const Json& content) {
  std::map<std::string, size_t> at;
  const Json columns = content.value("columns", Json::array());
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].is_string()) at[columns[i].get<std::string>()] = i;
  }
  std::vector<LayerTime> times;
  for (const char* needed : {"layer", "product", "method", "ms", "estimated_ms", "kind"}) {
    if (!at.contains(needed)) return times;
  }
  for (const auto& row : content.value("rows", Json::array())) {
    if (!row.is_array() || row.size() != columns.size()) continue;
    const auto text = [&](const char* column) {
      const Json& cell = row[at[column]];
      return cell.is_string() ? cell.get<std::string>() : std::string();
    };
    if (!text("kind").starts_with("conv") || !row[at["ms"]].is_number()) continue;
    // Another way to compute what the line before it has by the chosen one.
    if (at.contains("variant") && !text("variant").empty()) continue;
    LayerTime& time = times.emplace_back(
        LayerTime{.layer = text("layer"), .product = text("product"), .method = text("method")});
    time.ms = row[at["ms"]].get<double>();
    const Json& estimated = row[at["estimated_ms"]];
    if (estimated.is_number()) time.estimated_ms = estimated.get<double>();
  }
  return times;
}

// Its methods in their order, exact computation first.
std::vector<std::string> methods_of(const std::vector<LayerTime>& times) {
  std::vector<std::string> methods = {std::string(kDense)};
  for (const auto& time : times) {
    const bool known = std::ranges::find(methods, time.method) != methods.end();
    if (!known) methods.push_back(time.method);
  }
  return methods;
}

// Ours of a number of McDanel et al. 2022, Figure 9, from the content of a layer-times study, over
// its convolutions. `row`: 0 is exact training, then the study's methods in their order.
//   time, %                       share of the data gradients in the time of all exact products
//   time_saved, estimated         what is saved where the time of a product falls with its
//                                 multiply-accumulates
//   time_saved, measured-kernel   what the method's own products save, choosing included
// Nothing measured (n = 0) where the study has none.
Measured layer_time_number(const ReportedValue& value, size_t row, const Json& content) {
  const auto times = convolution_times(content);
  const auto methods = methods_of(times);
  double total = 0, data_gradients = 0;
  std::map<std::pair<std::string, std::string>, double> exact;  // ms, by layer and product
  for (const auto& time : times) {
    if (!is_dense(time.method)) continue;
    total += time.ms;
    if (time.product == name(Product::kDataGradient)) data_gradients += time.ms;
    exact[{time.layer, time.product}] = time.ms;
  }
  Measured measured;
  if (total <= 0 || row >= methods.size()) return measured;
  const bool saved = value.quantity == PaperQuantity::kTimeSaved;
  if (value.quantity == PaperQuantity::kTime && value.unit == "%" && row == 0) {
    measured.n = 1;
    measured.value = 100 * data_gradients / total;
  } else if (saved && row > 0) {
    const bool estimated = value.basis == Basis::kEstimated;
    double left = 0, before = 0;
    for (const auto& time : times) {
      if (time.method != methods[row]) continue;
      before += exact[{time.layer, time.product}];
      left += estimated ? time.estimated_ms.value_or(0) : time.ms;
    }
    measured.n = 1;
    measured.value = 100 * (before - left) / total;
    measured.estimated = estimated;
  }
  return measured;
}

// Ours of a number of the paper, where the study makes one.
Measured number_of_study(const std::string& study, const ReportedValue& value, size_t row,
                         const Json& content) {
  if (study != "layer-times" || !content.is_object()) return {};
  return layer_time_number(value, row, content);
}

// "; ours 35.10% NOT COMPARABLE (measured on other hardware)" behind what the paper prints.
std::string ours_text(const ReportedValue& value, const ReportedNumber& number,
                      const Measured& ours, Scale scale) {
  std::string text =
      fmt::format("{}ours {:.2f}{}", number.printed.empty() ? "" : "; ", ours.value, value.unit);
  const auto judgement = judge(value, number.value, ours, {.scale = scale});
  if (!judgement.verdict) return text;
  return text + fmt::format(" {} ({})", verdict_text(judgement), judgement.reason);
}

// What the paper prints, a line for each of its quantities: a study's table has columns of its own.
// Beside it ours with its verdict, where the study makes such numbers.
std::vector<std::string> printed_notes(const Experiment& layout, const Experiment& shown,
                                       const std::string& study, const Json& content) {
  const ItemReport& paper = layout.paper;
  std::vector<std::string> notes;
  for (const auto& value : paper.values) {
    std::string line;
    bool prints = false;
    for (size_t row = 0; row < std::max(value.paper.size(), paper.labels.size()); ++row) {
      std::string printed;
      ReportedNumber first;
      if (row < value.paper.size()) {
        for (const auto& number : value.paper[row]) {
          if (!number.printed.empty()) printed += (printed.empty() ? "" : ", ") + number.printed;
        }
        if (!value.paper[row].empty()) first = value.paper[row][0];
      }
      const Measured ours = number_of_study(study, value, row, content);
      if (printed.empty() && ours.n == 0) continue;
      prints = prints || !printed.empty();
      line += line.empty() ? "" : ", ";
      if (row < paper.labels.size()) line += paper.labels[row] + " ";
      line += printed;
      if (ours.n > 0) line += ours_text(value, first, ours, shown.scale);
    }
    if (line.empty()) continue;
    notes.push_back(
        fmt::format("{}: {} ({}): {}", prints ? "printed in the paper" : "not in the paper",
                    value.definition.text.empty() ? name(value.quantity) : value.definition.text,
                    name(value.basis), line));
  }
  return notes;
}

Field field_of(const Json& cell) {
  if (cell.is_number_integer() && holds_whole<int64_t>(cell)) return cell.get<int64_t>();
  if (cell.is_number()) return cell.get<double>();
  return cell.is_string() ? Field(cell.get<std::string>()) : Field();
}

// Adds what a study computed: its columns are data, and told by nothing else.
void add_content(const Json& content, Table& table) {
  for (const auto& column : content.value("columns", Json::array())) {
    table.columns.push_back(column.is_string() ? column.get<std::string>() : column.dump());
  }
  for (const auto& line : content.value("rows", Json::array())) {
    auto& values = table.rows.emplace_back();
    for (const auto& cell : line) values.push_back(field_of(cell));
  }
}

// The note on the images that a study read, if they are lossy. Studies of earlier programs name
// their data set only: it is the one that runs of the store read under that name.
std::string lossy_note_of(SQLite::Database& db, const std::string& environment,
                          const std::string& params) {
  const auto member = [](const Json& json, const char* key) {
    return json.is_object() ? json.value(key, Json()) : Json();
  };
  const Json name = member(Json::parse(params, nullptr, /*allow_exceptions=*/false), "dataset");
  if (!name.is_string()) return "";
  const Json data =
      member(Json::parse(environment, nullptr, /*allow_exceptions=*/false), "dataset");
  const Json lossy = member(data, "lossy");
  const bool is_lossy = lossy.is_boolean()
                            ? lossy.get<bool>()
                            : lossy_datasets(db, "").contains(name.get<std::string>());
  return is_lossy ? lossy_note({name.get<std::string>()}) : "";
}

// Of a study that is not in the store.
Columns<PaperLine> missing_columns() {
  return {{.name = "item", .value = &PaperLine::item},
          {.name = "verdict", .value = via(&PaperLine::judgement, verdict_text)},
          {.name = "reason", .value = via(&PaperLine::judgement, &Judgement::reason)}};
}

}  // namespace

Table paper_study_table(const Snapshot& snapshot, const Experiment& layout,
                        const Experiment& shown) {
  Table table = paper_table(item_title(shown));
  bool found = false;
  std::string study;
  Json content;
  for_each_row(
      snapshot.db(),
      "SELECT content, hostname, git_sha, name, environment, params FROM study_run JOIN host "
      "USING(host_id) JOIN build USING(build_id) WHERE experiment = ? "
      "ORDER BY study_run_id DESC LIMIT 1",
      [&](SQLite::Statement& row) {
        content = Json::parse(text_at(row, 0), nullptr, /*allow_exceptions=*/false);
        if (!content.is_object()) return;
        found = true;
        study = text_at(row, 3);
        add_content(content, table);
        add_notes(table, {fmt::format("measured on {} with {}", text_at(row, 1),
                                      text_at(row, 2).substr(0, 12))});
        const auto lossy = lossy_note_of(snapshot.db(), text_at(row, 4), text_at(row, 5));
        if (!lossy.empty()) add_notes(table, {lossy});
      },
      shown.id);
  if (!found) {
    PaperLine missing{.item = shown.item};
    missing.judgement = {Verdict::kNotRun, "the study is not in the store"};
    fill(table, missing_columns(), std::vector{missing});
  }
  add_notes(table, finding_notes(layout, shown));
  add_notes(table, printed_notes(layout, shown, study, content));
  return table;
}

}  // namespace approx
