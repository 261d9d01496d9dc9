#include "results/reports/which_method.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/params.h"
#include "base/text.h"
#include "results/records/lossy_data.h"
#include "results/rows/answer.h"
#include "results/rows/rows.h"

namespace approx {
namespace {

constexpr std::string_view kAdviceSchema = "approxtrain.advice/1";

enum class AdviceKind { kText, kWhole, kNumber };

// A column of the table. Each row of the file has it; null: not measured.
struct AdviceField {
  const char* name;
  AdviceKind kind;
};
constexpr std::array kAdviceFields = {AdviceField{"hardware", AdviceKind::kText},
                                      AdviceField{"precision", AdviceKind::kText},
                                      AdviceField{"method", AdviceKind::kText},
                                      AdviceField{"network", AdviceKind::kText},
                                      AdviceField{"primary", AdviceKind::kWhole},
                                      AdviceField{"verdict", AdviceKind::kText},
                                      AdviceField{"speedup", AdviceKind::kNumber},
                                      AdviceField{"speedup_lo", AdviceKind::kNumber},
                                      AdviceField{"speedup_hi", AdviceKind::kNumber},
                                      AdviceField{"processes", AdviceKind::kWhole},
                                      AdviceField{"loss_pp", AdviceKind::kNumber},
                                      AdviceField{"loss_pp_half", AdviceKind::kNumber},
                                      AdviceField{"seeds", AdviceKind::kWhole},
                                      AdviceField{"margin_pp", AdviceKind::kNumber},
                                      AdviceField{"decided_by", AdviceKind::kText},
                                      AdviceField{"why", AdviceKind::kText},
                                      AdviceField{"speed_machine", AdviceKind::kText},
                                      AdviceField{"speed_date", AdviceKind::kText},
                                      AdviceField{"speed_commit", AdviceKind::kText},
                                      AdviceField{"speed_data", AdviceKind::kText},
                                      AdviceField{"speed_database", AdviceKind::kText},
                                      AdviceField{"loss_machine", AdviceKind::kText},
                                      AdviceField{"loss_date", AdviceKind::kText},
                                      AdviceField{"loss_commit", AdviceKind::kText},
                                      AdviceField{"loss_data", AdviceKind::kText},
                                      AdviceField{"loss_database", AdviceKind::kText},
                                      AdviceField{"lossy_data", AdviceKind::kText}};

Field advice_field(const Json& row, const AdviceField& field) {
  const Json& json = row.at(field.name);
  if (json.is_null()) return {};
  if (field.kind == AdviceKind::kText) return json.get<std::string>();
  if (field.kind == AdviceKind::kWhole) return json.get<int64_t>();
  return json.get<double>();
}

// A row of the file.
class StoredAdvice {
 public:
  explicit StoredAdvice(const Json& row) {
    for (const auto& field : kAdviceFields) fields_.push_back(advice_field(row, field));
  }

  const std::vector<Field>& fields() const { return fields_; }
  bool has(std::string_view name) const { return at(name).index() != 0; }
  std::string text(std::string_view name) const { return text_of(at(name)); }  // "": nothing

  std::optional<double> number(std::string_view name) const {
    return has(name) ? std::optional(std::get<double>(at(name))) : std::nullopt;
  }
  // Of a count that is there; 1 where the number that it counts for has none.
  int64_t count(std::string_view name) const { return has(name) ? std::get<int64_t>(at(name)) : 1; }

 private:
  const Field& at(std::string_view name) const {
    const auto found =
        std::ranges::find_if(kAdviceFields, [&](const auto& field) { return field.name == name; });
    return fields_.at(static_cast<size_t>(found - kAdviceFields.begin()));
  }

  std::vector<Field> fields_;
};

std::string advised_speed(const StoredAdvice& line) {
  const auto speedup = line.number("speedup");
  if (!speedup) return "not measured";
  return ratio_text({.n = line.count("processes"),
                     .ratio = *speedup,
                     .lo = line.number("speedup_lo"),
                     .hi = line.number("speedup_hi")});
}

std::string advised_loss(const StoredAdvice& line) {
  const auto loss = line.number("loss_pp");
  if (!loss) return "not measured";
  return with_interval(
      {.n = line.count("seeds"), .mean = *loss, .half = line.number("loss_pp_half")}, 2);
}

// What it is where it is none: "not measured".
std::string drawn_verdict(const std::string& verdict) {
  const auto answer = find_named<Answer>(verdict);
  return answer ? drawn(*answer) : verdict;
}

// "cifar10", or "synthetic; loss: cifar10" of two databases.
std::string advised_data(const StoredAdvice& line) {
  const std::string speed = line.text("speed_data"), loss = line.text("loss_data");
  if (speed.empty()) return loss;
  if (loss.empty() || loss == speed) return speed;
  return fmt::format("{}; loss: {}", speed, loss);
}

std::vector<std::string> advised_texts(const StoredAdvice& line) {
  const auto or_dash = [](std::string text) { return text.empty() ? "–" : text; };
  return {line.text("hardware"),
          line.text("precision"),
          line.text("method"),
          advised_speed(line),
          advised_loss(line),
          drawn_verdict(line.text("verdict")),
          or_dash(line.text("network")),
          or_dash(line.text("processes")),
          or_dash(line.text("seeds")),
          or_dash(advised_data(line)),
          line.text("why")};
}

// What the lines of a table took from one database.
struct AdviceSource {
  std::string what, database;  // "speedups"
  std::set<std::string> machines, dates, commits;

  // "speedups of several-machines/study: AMD EPYC, 2026-11-23 to 2026-11-27, commit ..., ...".
  std::string note() const {
    std::string days = *dates.begin();
    if (dates.size() > 1) days += " to " + *dates.rbegin();
    return fmt::format("{} of {}: {}, {}, commit {}", what, database, fmt::join(machines, ", "),
                       days, fmt::join(commits, ", "));
  }
};

void add_sources(const StoredAdvice& line, std::vector<AdviceSource>& sources) {
  for (const std::string_view part : {"speed", "loss"}) {
    const auto of = [&](const char* name) { return line.text(fmt::format("{}_{}", part, name)); };
    if (of("database").empty()) continue;
    const std::string what = part == "speed" ? "speedups" : "losses";
    auto found = std::ranges::find_if(sources, [&](const AdviceSource& source) {
      return source.what == what && source.database == of("database");
    });
    if (found == sources.end()) {
      found = sources.insert(found, {.what = what, .database = of("database")});
    }
    const std::string machines = of("machine");
    for (const auto machine : split(machines, ";")) found->machines.emplace(trim(machine));
    found->dates.insert(of("date"));
    found->commits.insert(of("commit"));
  }
}

// "28 lines: 2 yes, 1 no, 20 undecided, 5 not measured."
std::string lines_sentence(const std::vector<std::string>& verdicts) {
  std::string text;
  for (const char* verdict : {"yes", "no", "undecided", "not measured"}) {
    const auto lines = std::ranges::count(verdicts, verdict);
    if (lines > 0) text += fmt::format("{} {} {}", text.empty() ? "" : ",", lines, verdict);
  }
  return fmt::format("{} {}:{}.", verdicts.size(), verdicts.size() == 1 ? "line" : "lines", text);
}

Table advice_from(const Json& file, const WhichMethodFilter& filter) {
  const auto fits = [](const std::string& wanted, const std::string& value) {
    return wanted.empty() || wanted == value;
  };
  Table table{.name = "which-method", .title = "Which method to use"};
  for (const auto& field : kAdviceFields) table.columns.emplace_back(field.name);
  table.text_columns = {"hardware", "precision", "method", "step speedup", "loss, pp", "use?",
                        "network",  "processes", "seeds",  "data set",     "why"};
  table.screen.keys = {"hardware", "precision"};
  table.screen.results = {"method", "step speedup", "loss, pp", "use?"};
  std::vector<AdviceSource> sources;
  std::vector<std::string> verdicts;
  std::set<std::string> lossy;
  for (const auto& row : file.at("rows")) {
    const StoredAdvice line(row);
    if (!fits(filter.hardware, line.text("hardware"))) continue;
    if (!fits(filter.precision, line.text("precision"))) continue;
    if (!filter.all_networks && line.text("primary") != "1") continue;
    table.rows.push_back(line.fields());
    table.text_rows.push_back(advised_texts(line));
    verdicts.push_back(line.text("verdict"));
    add_sources(line, sources);
    if (line.has("lossy_data")) lossy.insert(line.text("lossy_data"));
  }
  if (table.rows.empty()) return table;
  table.screen.headline = lines_sentence(verdicts);
  table.notes = {
      "step speedup: over exact training in the same precision on that machine; [ ] and ±: 95 % "
      "intervals, over processes and over seeds",
      "loss: the accuracy of exact training minus the method's, paired by seed",
      "use?: as report advice decides. If speed and loss are from different databases, a method is "
      "never yes. Exact training in another precision is yes if its steps are faster and it loses "
      "no more than a tenth of the error"};
  if (!lossy.empty()) table.notes.push_back(lossy_note(lossy));
  for (const auto& source : sources) table.notes.push_back(source.note());
  return table;
}

}  // namespace

Table which_method(std::string_view text, const WhichMethodFilter& filter) {
  try {
    const Json file = Json::parse(text);
    if (file.at("schema").get<std::string>() == kAdviceSchema) return advice_from(file, filter);
  } catch (const Json::exception& error) {
    throw usage_error("is no table of advice ({}); install the program anew", error.what());
  }
  throw usage_error("is no table of advice (its schema is not {}); install the program anew",
                    kAdviceSchema);
}

}  // namespace approx
