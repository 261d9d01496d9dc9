// The main table: what became of each method on each network, data set and schedule.
#include <algorithm>
#include <set>

#include "results/reports/advice.h"
#include "results/reports/report.h"
#include "results/rows/row_columns.h"
#include "results/rows/rows.h"
#include "results/rows/target_rows.h"

namespace approx {
namespace {

std::string runs_text(const Row& row) {
  std::string text = fmt::format("{}/{}", row.finished, row.planned());
  const auto add = [&](int64_t count, const char* what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(row.diverged, "diverged");
  add(row.cut_off, "cut off");
  add(row.failed, "failed");
  add(row.missing, "missing");
  return text;
}

std::string target_text(const Row& row) {
  if (!row.target || row.target_runs == 0) return "–";
  const auto reached = row.time_to_target.n;
  const std::string counts = fmt::format(" ({}/{} reached)", reached, row.target_runs);
  if (reached == 0) return fmt::format("> {} s{}", fixed(row.target_budget, 1), counts);
  const auto& half = row.time_to_target.half;
  return fixed(row.time_to_target.mean, 1) + (half ? " ± " + fixed(*half, 1) : "") + " s" + counts;
}

// "1.25× ± 0.02"; `star` on either side.
std::string bound_text(const std::optional<double>& speedup, const Summary& of_runs,
                       const char* star = "") {
  if (!speedup) return "–";
  return fmt::format("{}{}×{}{}", star, fixed(*speedup, 2), spread_text(of_runs, 2), star);
}

std::string images_text(const Row& row) {
  if (!row.images_per_s) return "–";
  return fixed(*row.images_per_s, 1) + spread_text(row.images_of_runs, 1);
}

// The columns NAME_half and NAME_runs for programs: half the width of the interval of a mean over
// runs, and their number; nothing without runs.
Columns<Row> spread_columns(const std::string& name, Summary Row::*of_runs) {
  const auto runs = [of_runs](const Row& row) {
    return (row.*of_runs).n > 0 ? Field((row.*of_runs).n) : Field();
  };
  return {{.name = name + "_half", .value = via(of_runs, &Summary::half)},
          {.name = name + "_runs", .value = runs}};
}

std::string loss_text(const RowSet& set, const Row& row) {
  if (row.dense == &row || row.loss.n == 0) return "–";
  const std::string p = set.loss_p_text(row);
  return with_interval(row.loss, 2) + (p.empty() ? "" : fmt::format(" ({})", p));
}

// What some row of the table has.
struct Shown {
  bool bounded = false;   // a ceiling of its speedup
  bool realised = false;  // a saving of work beside its speedup
};

// What report_advice answers of each row.
Column<Row> verdict_column(const Worths& worths) {
  return {.name = "verdict", .header = "verdict", .value = [&worths](const Row& row) -> Field {
            const auto worth = worths.find(&row);
            if (worth == worths.end()) return Field("–");
            return Field(worth_text(worth->second));
          }};
}

Columns<Row> main_columns(const RowSet& set, const NoteLetters& letters, const Shown& shown) {
  const auto what = row_columns<Row>(set, &letters);
  Columns<Row> columns = {what.network, what.dataset, what.schedule,
                          what.method,  what.setting, what.tuned_rate};
  append(columns, {{"n", "n", via(&Row::accuracy, &Summary::n)}});
  append(columns, summary_columns<Row>("accuracy_pct", "accuracy %", &Row::accuracy));
  append(columns, {{.name = "accuracy_pct_sd", .value = via(&Row::accuracy, &Summary::sd)}});
  append(columns, summary_columns<Row>("best_accuracy_pct", "best %", &Row::best));
  append(columns, {{"loss_pp", "loss vs dense, pp", via(&Row::loss),
                    [&set](const Row& row) { return loss_text(set, row); }},
                   {.name = "loss_pp_half", .value = via(&Row::loss, &Summary::half)},
                   {.name = "loss_pairs", .value = via(&Row::loss, &Summary::n)},
                   {.name = "loss_p", .value = via(&Row::loss, &PairedDifference::p)},
                   {.name = "loss_p_holm", .value = via(&Row::loss_p_holm)}});
  append(columns, speedup_columns<Row>(set));
  append(
      columns,
      {{.name = "speedup_block_pairs", .value = &Row::block_pairs},
       {.name = "speedup_runs", .value = via(&Row::speedup, &Ratio::n)},
       {.header = "ceiling",
        .text = [](const Row& row) { return bound_text(row.ceiling, row.ceiling_of_runs); },
        .shown = shown.bounded},
       {.header = "*estimated*",
        .text = [](const Row& row) { return bound_text(row.estimate, row.estimate_of_runs, "*"); },
        .shown = shown.bounded,
        .starred = true},
       {.header = "realised",
        .text = [](const Row& row) { return realisation_text(row.realisation); },
        .shown = shown.realised}});
  append(columns, ratio_columns<Row>("speedup_not_isolated", "speedup (not isolated)",
                                     &Row::speedup_shared));
  const auto if_target = [](auto... of) {
    return [=](const Row& row) { return row.target ? via(of...)(row) : Field(); };
  };
  const auto budget = [](const Row& row) {
    return row.target && row.target_runs > 0 ? Field(row.target_budget) : Field();
  };
  const auto isolated = [](const Row& row) {
    return row.images_per_s ? Field(int64_t{!row.notes[kShared]}) : Field();
  };
  append(columns,
         {{.name = "target", .value = via(&Row::target)},
          {"time_to_target_s", "time to target", via(&Row::time_to_target), target_text},
          {.name = "time_to_target_s_half", .value = via(&Row::time_to_target, &Summary::half)},
          {.name = "target_reached", .value = if_target(&Row::time_to_target, &Summary::n)},
          {.name = "target_runs", .value = if_target(&Row::target_runs)},
          {.name = "target_budget_s", .value = budget},
          {"images_per_s", "images/s", via(&Row::images_per_s), images_text}});
  append(columns, spread_columns("images_per_s", &Row::images_of_runs));
  append(columns, {{.name = "images_per_s_isolated", .value = isolated},
                   {.name = "planned", .value = &Row::planned},
                   {"finished", "runs", &Row::finished, runs_text},
                   {.name = "diverged", .value = &Row::diverged},
                   {.name = "failed", .value = &Row::failed},
                   {.name = "missing", .value = &Row::missing},
                   notes_column<Row>(letters),
                   {.name = "speedup_ceiling", .value = via(&Row::ceiling)}});
  append(columns, spread_columns("speedup_ceiling", &Row::ceiling_of_runs));
  append(columns, {{.name = "speedup_estimated", .value = via(&Row::estimate)}});
  append(columns, spread_columns("speedup_estimated", &Row::estimate_of_runs));
  append(columns, {{.name = "compute_reduction_pct", .value = via(&Row::compute_reduction)},
                   {.name = "compute_reduction_pct_half",
                    .value = via(&Row::compute_reduction, &Summary::half)}});
  append(columns, realisation_columns<Row>());
  return columns;
}

// One row for each (network, data set, schedule, method) with equal settings: accuracy, its loss
// against dense paired by seed, speedup, time to the experiment's target, throughput, and what
// became of the runs. docs/internals/statistics.md says how each number is made.
Table report_table(const Snapshot& snapshot, const ReportOptions& options) {
  const auto rows_there = rows_of(snapshot, options);
  const RowSet& set = *rows_there;
  const auto& rows = set.rows();
  std::set<std::pair<double, std::string>> targets;  // each with its origin
  Shown shown;
  for (const auto& row : rows) {
    if (row.target) {
      targets.emplace(*row.target, row.stored_target ? ": " + row.stored_target->origin() : "");
    }
    shown.bounded |= row.ceiling.has_value();
    shown.realised |= row.realisation.has_value();
  }
  // Without a target no seconds stand here.
  const auto letters =
      letters_of(rows, targets.empty() ? std::set<Note>{kTimesElsewhere} : std::set<Note>());
  auto columns = main_columns(set, letters, shown);
  const Worths worths = options.verdicts ? worths_of(set, snapshot, options) : Worths();
  if (options.verdicts) columns.push_back(verdict_column(worths));
  Table table = table_of(
      options.experiment.starts_with("@") ? options.experiment.substr(1) : options.experiment,
      columns, rows);
  table.screen = {.keys = {"network", "dataset", "schedule", "setting", "tuned_rate", "n"},
                  .results = {"method", "accuracy_pct", "loss_pp", "speedup", "verdict"},
                  .headline = worth_sentence(worths)};
  if (!worths.empty()) table.screen.next = report_command("advice", options);
  table.notes = letters.lines();
  for (const auto& [target, origin] : targets) {
    table.notes.push_back(
        fmt::format("target: {} % accuracy{}", shortest(shown_percent({target, ""})), origin));
  }
  if (!rows.empty()) {
    table.notes.emplace_back(
        "±, [ ]: 95 % intervals. Images/s, ceiling and estimated are medians, with ± over runs");
  }
  if (const auto note = set.holm_note(); !note.empty()) table.notes.push_back(note);
  if (const auto note = set.stock_note(); !note.empty()) table.notes.push_back(note);
  if (shown.realised) {
    table.notes.emplace_back(
        "realised: the share of the time that is really saved, over the share of the "
        "multiply-accumulates that is left out");
  }
  if (shown.bounded) {
    table.notes.emplace_back(
        "ceiling: the speedup if what is approximated took no time; computed, not measured");
    table.notes.emplace_back(
        "estimated: the speedup if time were in proportion to multiply-accumulates, as papers "
        "count; computed, not measured");
  }
  if (!worths.empty()) {
    table.notes.emplace_back(
        "verdict: whether the method is worth using; report advice says what decides");
  }
  table.notes.insert(table.notes.end(), set.contents().excluded.begin(),
                     set.contents().excluded.end());
  return table;
}

REGISTER_REPORT("table", report_table)
    .at(1)
    .about("One row for each method: accuracy, loss against dense, speedup")
    .made_of("accuracy or timing runs (train, sweep)");

}  // namespace
}  // namespace approx
