// Each method against each exact training of its network, whatever the recipe of either.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/reports/report.h"
#include "results/rows/row_columns.h"
#include "results/rows/rows.h"
#include "results/rows/same_time.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

struct PairLine {
  const Row* row = nullptr;
  const Row* exact = nullptr;
  Notes notes = {};  // of the runs of both, and of the pairs
  double epochs = 0, exact_epochs = 0;
  PairedDifference ahead;  // the method minus the exact training, points
  int64_t seeds_ahead = 0;
  std::optional<double> p_holm;
};

PairLine pair_line(const RowSet& set, const Row& row, const Row& exact) {
  PairLine line{.row = &row, .exact = &exact, .notes = row.notes};
  // What the row's own notes say of its own exact training is not said of this one.
  line.notes[kUnpaired] = line.notes[kMixedBuilds] = line.notes[kPairsOfMachines] = false;
  for (const auto note : {kDiverged, kLossy, kDirty, kMixedHosts, kResumed, kStopped}) {
    line.notes[note] |= exact.notes[note];
  }
  std::vector<double> ahead;
  for (const double loss : set.losses(row, exact, /*best=*/false)) {
    ahead.push_back(-loss);
    line.seeds_ahead += loss < 0 ? 1 : 0;
  }
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
    const Cell* other = partner(&exact, *cell, Machine::kAny);
    if (other == nullptr || !set.final_accuracy(*cell) || !set.final_accuracy(*other)) continue;
    line.notes[kPairsOfMachines] |= run->host_id != other->run()->host_id;
    line.notes[kMixedBuilds] |= !same_build(*run, *other->run());
  }
  line.ahead = paired_difference(ahead);
  line.notes[kUnpaired] = line.ahead.n < row.accuracy.n;
  line.notes[kFew] = line.ahead.n < kFewSeeds;
  line.epochs = trained_epochs(set, row).most;
  line.exact_epochs = trained_epochs(set, exact).most;
  return line;
}

std::vector<PairLine> pair_lines(const RowSet& set) {
  std::vector<PairLine> lines;
  for (const auto& row : set.rows()) {
    if (is_dense(*row.first)) continue;
    for (const auto& exact : set.rows()) {
      if (!is_dense(*exact.first) || !same_but_recipe(*row.first, *exact.first)) continue;
      auto line = pair_line(set, row, exact);
      if (line.ahead.n > 0) lines.push_back(line);
    }
  }
  std::vector<std::optional<double>> p;
  for (const auto& line : lines) p.push_back(line.ahead.p);
  const auto adjusted = holm_of_known(p);
  for (size_t i = 0; i < lines.size(); ++i) lines[i].p_holm = adjusted[i];
  return lines;
}

std::string p_text(const std::optional<double>& p) { return p ? fmt::format("{:.2g}", *p) : "–"; }

Columns<PairLine> pair_columns(const RowSet& set, const NoteLetters& letters) {
  const auto what = row_columns<PairLine>(set);
  Columns<PairLine> columns = what.all();
  columns.back().text = [&letters](const PairLine& line) {
    return line.row->first->method_label + letters.marks(line.notes);
  };
  append(columns, {{.name = "epochs",
                    .header = "epochs",
                    .value = &PairLine::epochs,
                    .text = [](const PairLine& line) { return fixed(line.epochs, 2); }},
                   {.name = "exact",
                    .header = "against",
                    .value = [](const PairLine& line) { return line.exact->first->method_label; }},
                   {.name = "exact_setting",
                    .header = "its setting",
                    .value = [&set](const PairLine& line) { return set.setting(*line.exact); },
                    .shown = set.settings_differ()},
                   {.name = "exact_tuned_rate",
                    .header = "its tuned rate",
                    .value = [](const PairLine& line) { return RowSet::tuned_rate(*line.exact); },
                    .shown = set.tuned_rates_differ()},
                   {.name = "exact_epochs",
                    .header = "its epochs",
                    .value = &PairLine::exact_epochs,
                    .text = [](const PairLine& line) { return fixed(line.exact_epochs, 2); }},
                   {.name = "n", .header = "seeds", .value = [](const PairLine& line) {
                      return line.ahead.n;
                    }}});
  append(columns, summary_columns<PairLine>("ahead_pp", "ahead, pp", &PairLine::ahead));
  append(columns,
         {{.name = "seeds_ahead", .header = "seeds ahead", .value = &PairLine::seeds_ahead},
          {.name = "p",
           .header = "p",
           .value = [](const PairLine& line) { return field(line.ahead.p); },
           .text = [](const PairLine& line) { return p_text(line.ahead.p); }},
          {.name = "p_holm",
           .header = "p, Holm",
           .value = maybe(&PairLine::p_holm),
           .text = [](const PairLine& line) { return p_text(line.p_holm); }},
          {.name = "notes",
           .value = [&letters](const PairLine& line) { return letters.names(line.notes); }}});
  return columns;
}

// A line for each row of a method and each row of exact training that share network, data set
// and settings but for the recipe, and at least one seed: the method's test accuracy minus the
// exact training's in points, paired by seed (paired_difference, docs/statistics.md), the number
// of seeds in which the method is ahead, and the p of the sign-flip test, also adjusted by Holm
// over all lines. Whoever declares an exact training of another length as a row of an experiment
// reads here how a method fares against it.
Table report_pairs(const Snapshot& snapshot, const ReportOptions& options) {
  const RowSet set(snapshot, options);
  const auto lines = pair_lines(set);
  Table table;
  table.name = "pairs";
  table.title = options.experiment;
  std::vector<Notes> noted;
  for (const auto& line : lines) noted.push_back(line.notes);
  // Of accuracies alone.
  const NoteLetters letters(
      noted, 'a',
      {kShared, kTainted, kOtherNetwork, kFewProcesses, kAboveCeiling, kStockBuild, kEarlierRules,
       kTimedByBuilds, kTimesElsewhere, kShortSeconds});
  fill(table, pair_columns(set, letters), lines);
  if (lines.empty()) return table;
  table.notes = letters.lines();
  table.notes.emplace_back(
      "ahead: the method's test accuracy minus the exact training's, paired by seed, with its 95 % "
      "interval; p: exact sign-flip test, adjusted by Holm over all lines beside it");
  return table;
}

REGISTER_REPORT("pairs", report_pairs)
    .at(13)
    .about("Each method against each exact training, of other lengths too")
    .made_of("accuracy runs of methods and of dense");

}  // namespace
}  // namespace approx
