#include "results/reports/advice.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "core/experiment/iso_time.h"
#include "results/render/column.h"
#include "results/reports/report.h"
#include "results/reports/row_columns.h"
#include "results/reports/rows.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

constexpr int64_t kSeedsForABound = 6;  // fewer say little of a loss

// --- the control ---

// None for the recipe of another version of the program.
std::optional<Recipe> recipe_of(const Cell& cell) {
  const Json json = Json::parse(cell.recipe, nullptr, /*allow_exceptions=*/false);
  Recipe recipe;
  try {
    from_json(json, recipe);
  } catch (const Error&) {
    return std::nullopt;
  }
  return recipe;
}

// Whether two cells differ in nothing but method and recipe.
bool same_but_recipe(const Cell& a, const Cell& b) {
  const auto others = [](const Cell& cell) {
    Settings settings;
    for (const auto& setting : cell.settings) {
      const auto& specs = recipe_specs();
      const bool of_recipe = std::any_of(
          specs.begin(), specs.end(), [&](const auto& spec) { return spec.name == setting.first; });
      if (!of_recipe) settings.push_back(setting);
    }
    return settings;
  };
  return a.network == b.network && a.dataset == b.dataset && others(a) == others(b);
}

// The control of a row: dense training that is as short as the row is fast. One serves all methods
// that leave it the same epochs, so it goes by its recipe and not by the name in its label.
const Row* iso_time_control(const RowSet& set, const Row& row) {
  const auto recipe = recipe_of(*row.first);
  if (row.speedup.n == 0 || !recipe) return nullptr;
  const Recipe wanted = shortened(*recipe, iso_time_epochs(recipe->epochs, row.speedup.ratio));
  for (const auto& other : set.rows()) {
    const Cell& cell = *other.first;
    if (cell.method_label.starts_with(kIsoTimePrefix) && other.accuracy.n > 0 &&
        same_but_recipe(cell, *row.first) && recipe_of(cell) == wanted) {
      return &other;
    }
  }
  return nullptr;
}

// --- a line ---

// Where and when the runs of a row and of its dense row were made.
struct Origin {
  std::string machine, commit, since;  // since: the newest run's start
};

Origin origin_of(const Row& row) {
  Origin origin;
  std::set<int64_t> machines;  // ids: two may have one name
  for (const Row* part : {&row, row.dense}) {
    if (part == nullptr) continue;
    for (const auto* cell : part->cells) {
      const Run* run = cell->run();
      if (run == nullptr || !run->result()) continue;
      machines.insert(run->host_id);
      origin.machine = run->host;
      if (run->started_utc <= origin.since) continue;
      origin.since = run->started_utc;
      origin.commit = run->git_sha.substr(0, 12);
    }
  }
  if (machines.size() > 1) origin.machine = fmt::format("{} machines", machines.size());
  return origin;
}

enum class Worth { kYes, kNo, kUndecided };

std::string worth_text(Worth worth) {
  switch (worth) {
    case Worth::kYes:
      return "yes";
    case Worth::kNo:
      return "no";
    case Worth::kUndecided:
      return "undecided";
  }
  return "";
}

struct Advice {
  Worth worth = Worth::kUndecided;
  std::string reason;
};

// By its speed and its loss against dense.
Advice advise(const Row& row, const NonInferiorityTest& test, double margin) {
  if (row.notes[kDiverged]) return {Worth::kNo, "runs diverged"};
  const std::string points = shortest(margin) + " points";
  const std::string obstacle = speedup_obstacle(row);
  const bool slower = obstacle.empty() && *row.speedup.hi < 1;
  const bool faster = obstacle.empty() && *row.speedup.lo > 1;
  if (slower) return {Worth::kNo, "slower than dense"};
  if (test.verdict == NonInferiority::kInferior) return {Worth::kNo, "loses more than " + points};
  if (!obstacle.empty()) return {Worth::kUndecided, obstacle};
  if (row.loss.n == 0) return {Worth::kUndecided, "its accuracy was not measured beside dense"};
  const bool no_gain = *row.speedup.hi < 1 + kLeastEffect;
  if (no_gain) return {Worth::kNo, "no gain of 2 % or more"};
  if (!faster) return {Worth::kUndecided, "its speedup cannot be told from 1"};
  if (test.verdict == NonInferiority::kInconclusive) {
    if (row.loss.n >= kSeedsForABound) {
      return {Worth::kUndecided, "faster, but the loss may be above " + points};
    }
    return {Worth::kUndecided, fmt::format("faster, but {} {} cannot bound the loss", row.loss.n,
                                           row.loss.n == 1 ? "seed" : "seeds")};
  }
  return {Worth::kYes, "faster, and loses no more than " + points};
}

// A shorter exact training is the method to beat. `against`: the control minus the method, points.
Advice against_control(Advice advice, const PairedDifference& against) {
  const bool no_better = against.half && against.mean - *against.half > 0;
  const bool better = against.half && against.mean + *against.half < 0;
  const std::string result =
      fmt::format("dense in the same time: {} points", with_interval(against, 2));
  if (no_better && advice.worth != Worth::kNo) return {Worth::kNo, result + " above it"};
  if (advice.worth != Worth::kYes) return advice;
  if (!better) return {Worth::kUndecided, result + " against it"};
  advice.reason += "; " + result + " against it";
  return advice;
}

struct AdviceLine {
  const Row* row = nullptr;
  Origin origin;
  NonInferiorityTest test;   // of its loss against dense
  PairedDifference control;  // the control minus the method, points; empty without a control
  Advice advice;
};

AdviceLine advice_line(const RowSet& set, const Row& row, double margin) {
  AdviceLine line{.row = &row, .origin = origin_of(row)};
  if (row.dense != nullptr) {
    line.test = non_inferiority(set.losses(row, *row.dense, /*best=*/false), margin);
  }
  line.advice = advise(row, line.test, margin);
  if (const Row* control = iso_time_control(set, row)) {
    line.control = paired_difference(set.losses(row, *control, /*best=*/false));
    line.advice = against_control(std::move(line.advice), line.control);
  }
  return line;
}

std::string advice_loss_text(const AdviceLine& line) {
  const auto& loss = line.row->loss;
  return with_interval(loss, 2) + (loss.half ? fmt::format(" (n={})", loss.n) : "");
}

Columns<AdviceLine> advice_columns(const RowSet& set, double margin) {
  using Line = AdviceLine;
  const auto what = row_columns<Line>(set);
  Columns<Line> columns = {
      what.network,
      what.dataset,
      what.setting,
      {.name = "machine",
       .header = "machine",
       .value = [](const Line& line) { return line.origin.machine; }},
      {.name = "schedule", .value = what.schedule.value},
      {.name = "method",
       .header = "method, schedule",
       .value = what.method.value,
       .text = [](const Line& line) { return method_text(*line.row->first); }},
      {.name = "worth",
       .header = "worth it?",
       .value = [](const Line& line) { return worth_text(line.advice.worth); }},
      {.name = "reason", .value = [](const Line& line) { return line.advice.reason; }}};
  append(columns, ratio_columns<Line>("speedup", "speedup",
                                      [](const Line& line) { return line.row->speedup; }));
  append(
      columns,
      {{.name = "loss_pp",
        .header = "loss, pp",
        .value = [](const Line& line) { return mean_field(line.row->loss); },
        .text = advice_loss_text},
       {.name = "loss_pp_lower", .value = [](const Line& line) { return field(line.test.lower); }},
       {.name = "loss_pp_upper", .value = [](const Line& line) { return field(line.test.upper); }},
       {.name = "n", .value = [](const Line& line) { return line.row->loss.n; }},
       {.name = "margin_pp", .value = [margin](const Line&) { return margin; }},
       {.name = "measured_utc",
        .header = "measured",
        .value = [](const Line& line) { return line.origin.since; },
        .text = [](const Line& line) { return line.origin.since.substr(0, 10); }},
       {.name = "commit", .value = [](const Line& line) { return line.origin.commit; }},
       {.name = "iso_time_pp", .value = [](const Line& line) { return mean_field(line.control); }},
       {.name = "iso_time_pp_half",
        .value = [](const Line& line) { return field(line.control.half); }},
       {.name = "iso_time_n", .value = [](const Line& line) { return line.control.n; }},
       {.header = "why", .text = [](const Line& line) { return line.advice.reason; }}});
  return columns;
}

}  // namespace

Table report_advice(const std::string& db, const ReportOptions& options) {
  const RowSet set(db, options);
  std::vector<AdviceLine> lines;
  for (const auto& row : set.rows()) {
    if (row.dense == &row || is_dense(*row.first)) continue;
    if (row.speedup.n == 0 && row.loss.n == 0) continue;
    lines.push_back(advice_line(set, row, options.margin));
  }
  Table table;
  table.name = "advice";
  table.title = options.experiment;
  fill(table, advice_columns(set, options.margin), lines);
  if (lines.empty()) return table;
  table.notes = {
      fmt::format("yes: its speedup's 95 % interval lies above 1, and the one-sided 95 % bound of "
                  "its loss below {} points; no: slower, no gain of 2 %, or surely a larger loss; "
                  "else undecided",
                  shortest(options.margin)),
      "for the networks, data, settings and machines in the lines alone"};
  const bool lossy = std::any_of(lines.begin(), lines.end(),
                                 [](const auto& line) { return line.row->notes[kLossy]; });
  if (lossy) table.notes.emplace_back("some of the data went through JPEG");
  return table;
}

REGISTER_REPORT("advice", report_advice)
    .at(7)
    .about("Whether each method is worth using, and at what risk");

}  // namespace approx
