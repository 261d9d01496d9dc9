// Each method against each exact training of its network, whatever the recipe of either.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/reports/report.h"
#include "results/reports/worth.h"
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

PairLine pair_line(const Row& row, const Row& exact) {
  PairLine line{.row = &row, .exact = &exact, .notes = row.notes};
  // What the row's own notes say of its own exact training is not said of this one.
  line.notes[kUnpaired] = line.notes[kMixedBuilds] = line.notes[kPairsOfMachines] = false;
  for (const auto note : {kDiverged, kLossy, kDirty, kMixedHosts, kResumed, kStopped, kPatience}) {
    line.notes[note] |= exact.notes[note];
  }
  std::vector<double> ahead;
  for (const double loss : losses(row, exact)) {
    ahead.push_back(-loss);
    line.seeds_ahead += loss < 0 ? 1 : 0;
  }
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
    const Cell* other = partner(&exact, *cell, Machine::kAny);
    if (other == nullptr || !cell->final_accuracy() || !other->final_accuracy()) continue;
    line.notes[kPairsOfMachines] |= run->host_id != other->run()->host_id;
    line.notes[kMixedBuilds] |= !same_build(*run, *other->run());
  }
  line.ahead = paired_difference(ahead);
  line.notes[kUnpaired] = line.ahead.n < row.accuracy.n;
  line.notes[kFew] = line.ahead.n < kFewSeeds;
  line.epochs = trained_epochs(row).most;
  line.exact_epochs = trained_epochs(exact).most;
  return line;
}

// Whether both were declared with accuracy runs of one seed.
bool share_a_seed(const Row& row, const Row& exact) {
  std::set<int64_t> seeds;
  for (const Cell* cell : row.cells) {
    if (cell->is(Purpose::kAccuracy)) seeds.insert(cell->config.seed);
  }
  return std::ranges::any_of(exact.cells, [&](const Cell* cell) {
    return cell->is(Purpose::kAccuracy) && seeds.contains(cell->config.seed);
  });
}

// The pairs of rows that have results. Pairs that were declared and have none count in the
// adjustment of p, over so many `tests`.
std::vector<PairLine> pair_lines(const RowSet& set, int64_t& tests) {
  std::vector<PairLine> lines;
  std::vector<std::optional<double>> p;
  for (const auto& row : set.rows()) {
    if (is_dense(*row.first)) continue;
    for (const auto& exact : set.rows()) {
      if (!is_dense(*exact.first) || !same_but_recipe(*row.first, *exact.first)) continue;
      if (!share_a_seed(row, exact)) continue;
      lines.push_back(pair_line(row, exact));
      p.push_back(lines.back().ahead.p);
    }
  }
  tests = static_cast<int64_t>(p.size());
  const auto adjusted = holm_of_declared(p);
  for (size_t i = 0; i < lines.size(); ++i) lines[i].p_holm = adjusted[i];
  std::erase_if(lines, [](const PairLine& line) { return line.ahead.n == 0; });
  return lines;
}

// Programs read every p, people those that could be below 0.05.
Columns<PairLine> pair_columns(const RowSet& set, const NoteLetters& letters, int64_t tests) {
  using Line = PairLine;
  const auto shown = [](const std::optional<double>& p, const Line& line, int64_t family) {
    const std::string text = p_text(p, line.ahead.n, family);
    return text.empty() ? "–" : text;
  };
  Columns<Line> columns = row_columns<Line>(set, &letters).all();
  append(columns, {number_column<Line>("epochs", "epochs", &Line::epochs, "{:.2f}"),
                   {"exact", "against", via(&Line::exact, &Row::first, &Cell::method_label)},
                   {.name = "exact_setting",
                    .header = "its setting",
                    .value = [&set](const Line& line) { return set.setting(*line.exact); },
                    .shown = set.settings_differ()},
                   {.name = "exact_tuned_rate",
                    .header = "its tuned rate",
                    .value = via(&Line::exact, RowSet::tuned_rate),
                    .shown = set.tuned_rates_differ()},
                   number_column<Line>("exact_epochs", "its epochs", &Line::exact_epochs, "{:.2f}"),
                   {"n", "seeds", via(&Line::ahead, &PairedDifference::n)}});
  append(columns, summary_columns<Line>("ahead_pp", "ahead, pp", &Line::ahead));
  append(columns, {{.name = "seeds_ahead", .header = "seeds ahead", .value = &Line::seeds_ahead},
                   {"p", "p", via(&Line::ahead, &PairedDifference::p),
                    [=](const Line& line) { return shown(line.ahead.p, line, /*family=*/1); }},
                   {"p_holm", "p, Holm", via(&Line::p_holm),
                    [=](const Line& line) { return shown(line.p_holm, line, tests); }},
                   notes_column<Line>(letters)});
  return columns;
}

// "6 pairs: the method ahead in 2, behind in 1, 3 undecided.", by the intervals.
std::string pairs_sentence(const std::vector<PairLine>& lines) {
  int64_t ahead = 0, behind = 0;
  for (const auto& line : lines) {
    if (!line.ahead.half) continue;
    ahead += line.ahead.mean > *line.ahead.half;
    behind += line.ahead.mean < -*line.ahead.half;
  }
  const auto all = static_cast<int64_t>(lines.size());
  return fmt::format("{} {}: the method ahead in {}, behind in {}, {} undecided.", all,
                     all == 1 ? "pair" : "pairs", ahead, behind, all - ahead - behind);
}

// A line for each row of a method and each row of exact training that share network, data set
// and settings but for the recipe, and at least one seed: the method's test accuracy minus the
// exact training's in points, paired by seed (paired_difference, docs/internals/statistics.md), the
// number of seeds in which the method is ahead, and the p of the sign-flip test, also adjusted by
// Holm over all that were declared. Whoever declares an exact training of another length as a row
// of an experiment reads here how a method fares against it.
Table report_pairs(const Snapshot& snapshot, const ReportOptions& options) {
  const auto rows_there = rows_of(snapshot, options);
  const RowSet& set = *rows_there;
  int64_t tests = 0;
  const auto lines = pair_lines(set, tests);
  // Of accuracies alone.
  const auto letters = letters_of(
      lines, {kShared, kTainted, kOtherNetwork, kFewProcesses, kAboveCeiling, kStockBuild,
              kEarlierRules, kTimedByBuilds, kTimesElsewhere, kShortSeconds});
  Table table = table_of(options.experiment, pair_columns(set, letters, tests), lines);
  if (lines.empty()) return table;
  table.screen = {
      .keys = {"network", "dataset", "setting", "tuned_rate", "schedule", "epochs", "exact_setting",
               "exact_tuned_rate", "n"},
      .results = {"method", "exact", "exact_epochs", "ahead_pp", "seeds_ahead", "p_holm"},
      .headline = pairs_sentence(lines),
      .next = report_command("advice", options)};
  table.notes = letters.lines();
  table.notes.emplace_back(
      "ahead: the method's test accuracy minus the exact training's, paired by seed, with its 95 % "
      "interval");
  table.notes.emplace_back(
      "p: exact sign-flip test, and beside it p adjusted by Holm over all such pairs that were "
      "declared");
  table.notes.push_back(
      fmt::format("no p stands where it could not be below 0.05: alone it takes {} seeds, adjusted "
                  "over {} pairs {} (CSV and JSON have all)",
                  pairs_for_holm(1), tests, pairs_for_holm(tests)));
  return table;
}

REGISTER_REPORT("pairs", report_pairs)
    .at(13)
    .about("Each method against each exact training of its network, paired by seed")
    .made_of("accuracy runs of methods and of dense");

}  // namespace
}  // namespace approx
