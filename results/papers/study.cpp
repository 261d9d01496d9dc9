#include "results/papers/study.h"

#include <algorithm>

#include "base/error.h"
#include "results/papers/layer_time_numbers.h"
#include "results/papers/line.h"
#include "results/render/text_table.h"

namespace approx {
namespace {

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

void add_cell(const Json& cell, std::vector<Field>& values, std::vector<std::string>& texts) {
  if (cell.is_number_integer() && holds_whole<int64_t>(cell)) {
    values.emplace_back(cell.get<int64_t>());
    texts.push_back(cell.dump());
  } else if (cell.is_number()) {
    values.emplace_back(cell.get<double>());
    texts.push_back(rounded(cell.get<double>()));
  } else if (cell.is_string()) {
    values.emplace_back(cell.get<std::string>());
    texts.push_back(cell.get<std::string>());
  } else {
    values.emplace_back();
    texts.emplace_back("–");
  }
}

// Adds what a study computed: its columns are data, and told by nothing else.
void add_content(const Json& content, Table& table) {
  for (const auto& column : content.value("columns", Json::array())) {
    table.columns.push_back(column.is_string() ? column.get<std::string>() : column.dump());
  }
  table.text_columns = table.columns;
  for (const auto& line : content.value("rows", Json::array())) {
    auto& values = table.rows.emplace_back();
    auto& texts = table.text_rows.emplace_back();
    for (const auto& cell : line) add_cell(cell, values, texts);
  }
}

// Of a study that is not in the store.
Columns<PaperLine> missing_columns() {
  return {{.name = "item", .value = &PaperLine::item},
          {.name = "verdict",
           .value = [](const PaperLine& line) { return verdict_text(line.judgement); }},
          {.name = "reason", .value = [](const PaperLine& line) { return line.judgement.reason; }}};
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
      "SELECT content, hostname, git_sha, name FROM v_study JOIN host USING(host_id) JOIN build "
      "USING(build_id) WHERE experiment = ? ORDER BY study_run_id DESC LIMIT 1",
      [&](SQLite::Statement& row) {
        content = Json::parse(text_at(row, 0), nullptr, /*allow_exceptions=*/false);
        if (!content.is_object()) return;
        found = true;
        study = text_at(row, 3);
        add_content(content, table);
        add_notes(table, {fmt::format("measured on {} with {}", text_at(row, 1),
                                      text_at(row, 2).substr(0, 12))});
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
