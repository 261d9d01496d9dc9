// How fast a method must be to pay, and whether it is.
#include "results/stats/breakeven.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "results/render/column.h"
#include "results/reports/report.h"
#include "results/rows/best_exact.h"
#include "results/rows/exact_curve.h"
#include "results/rows/open_rate.h"
#include "results/rows/row_columns.h"
#include "results/rows/rows.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

enum class Pays { kYes, kNo, kUndecided };

constexpr auto enum_texts(Pays) {
  return std::to_array<EnumText<Pays>>(
      {{Pays::kYes, "yes"}, {Pays::kNo, "no"}, {Pays::kUndecided, "undecided"}});
}

struct BreakevenLine {
  const Row* row = nullptr;
  Notes notes = {};
  double epochs = 0;  // of the method
  EquivalentLength equivalent;
  Bounded breakeven;     // ratio
  MachineSpeedup timed;  // none where the row was not timed
  Bounded gap;           // percent
  Pays pays = Pays::kUndecided;
  std::string reason;
};

// Why no verdict rests on the speedup of a row on one machine; "" where one may.
std::string timing_obstacle(const Row& row, const Ratio& speedup) {
  if (speedup.n == 0) {
    return row.notes[kTainted] ? kTimingsDisturbed : "its speed was not measured";
  }
  if (row.notes[kIdle]) return kApproximatedNothing;
  if (row.ceiling && speedup.lo && *speedup.lo > *row.ceiling) {
    return "its speedup lies above its own ceiling";
  }
  if (speedup.n >= kProcessesForAVerdict) return "";
  return "its speed was " + timed_in_few(speedup.n, kProcessesForAVerdict);
}

void decide(BreakevenLine& line, const std::string& open_rate) {
  const auto say = [&](Pays pays, std::string reason) {
    line.pays = pays;
    line.reason = std::move(reason);
  };
  if (line.row->notes[kDiverged]) return say(Pays::kNo, "runs diverged");
  if (auto obstacle = timing_obstacle(*line.row, line.timed.speedup); !obstacle.empty()) {
    return say(Pays::kUndecided, std::move(obstacle));
  }
  if (line.equivalent.seeds < kSeedsForAVerdict) {
    return say(Pays::kUndecided,
               fmt::format("{} {} a side, a verdict needs {}", line.equivalent.seeds,
                           line.equivalent.seeds == 1 ? "seed" : "seeds", kSeedsForAVerdict));
  }
  if (!open_rate.empty()) return say(Pays::kUndecided, open_rate);
  if (line.gap.lo && *line.gap.lo > 0) return say(Pays::kYes, "faster than break-even");
  if (line.gap.hi && *line.gap.hi < 0) return say(Pays::kNo, "slower than break-even");
  say(Pays::kUndecided, "its speedup cannot be told from break-even");
}

// A line for each machine that timed the row, one without any.
void add_lines(const Row& row, const ExactCurve& curve, const EquivalentLength& equivalent,
               const ArmTrials& trials, std::vector<BreakevenLine>& lines) {
  BreakevenLine line{.row = &row,
                     .notes = row.notes,
                     .epochs = curve.epochs,
                     .equivalent = equivalent,
                     .breakeven = breakeven_speedup(curve.epochs, equivalent)};
  // What the row's own notes say of pairs with its exact training is not said of the curve.
  line.notes[kUnpaired] = line.notes[kMixedBuilds] = line.notes[kPairsOfMachines] = false;
  for (size_t note = 0; note < line.notes.size(); ++note) line.notes[note] |= curve.notes[note];
  auto machines = speedups_by_machine(row);
  if (machines.empty()) machines.emplace_back();
  for (const auto& machine : machines) {
    line.timed = machine;
    line.gap = percent_above(line.timed.speedup, line.breakeven);
    line.notes[kFewProcesses] =
        line.timed.speedup.n > 0 && line.timed.speedup.n < kProcessesForATiming;
    decide(line, rate_obstacle(row, trials));
    lines.push_back(line);
  }
}

// "5.86 [5.81, >6.00]", "<4.20 [–, 4.31]": an end that is not known lies beyond the trained
// lengths.
std::string length_text(const BreakevenLine& line) {
  const auto& found = line.equivalent;
  const std::string below = fmt::format("<{:.2f}", found.shortest);
  const std::string above = fmt::format(">{:.2f}", found.longest);
  const std::string value = found.length                           ? fixed(*found.length, 2)
                            : found.place == CurvePlace::kBelowAll ? below
                                                                   : above;
  if (found.seeds < 2) return value;
  return fmt::format("{} [{}, {}]", value, found.lo ? fixed(*found.lo, 2) : below,
                     found.hi ? fixed(*found.hi, 2) : above);
}

// "1.02× [<1.00, 1.03]".
std::string breakeven_text(const BreakevenLine& line) {
  const auto& found = line.equivalent;
  const std::string below = fmt::format("<{:.2f}", line.epochs / found.longest);
  const std::string above = fmt::format(">{:.2f}", line.epochs / found.shortest);
  const auto& [value, lo, hi] = line.breakeven;
  const std::string text = value                                  ? fixed(*value, 2)
                           : found.place == CurvePlace::kBelowAll ? above
                                                                  : below;
  if (found.seeds < 2) return text + "×";
  return fmt::format("{}× [{}, {}]", text, lo ? fixed(*lo, 2) : below, hi ? fixed(*hi, 2) : above);
}

// "-2.1 [-4.0, -0.2]", "[–, -0.2]".
std::string gap_text(const BreakevenLine& line) {
  const auto text = [](const std::optional<double>& value) {
    return value ? fixed(*value, 1) : std::string("–");
  };
  const auto& [value, lo, hi] = line.gap;
  if (!lo && !hi) return text(value);
  return fmt::format("{}[{}, {}]", value ? fixed(*value, 1) + " " : "", text(lo), text(hi));
}

Columns<BreakevenLine> bounded_columns(const std::string& name, const std::string& header,
                                       Bounded BreakevenLine::*bounded,
                                       std::string (*text)(const BreakevenLine&)) {
  return {{name, header, via(bounded, &Bounded::value), text},
          {.name = name + "_lo", .value = via(bounded, &Bounded::lo)},
          {.name = name + "_hi", .value = via(bounded, &Bounded::hi)}};
}

// `several_machines`: whether machines must be told apart, whose names may be alike.
Columns<BreakevenLine> breakeven_columns(const RowSet& set, const NoteLetters& letters,
                                         bool several_machines) {
  using Line = BreakevenLine;
  Columns<Line> columns = row_columns<Line>(set, &letters).all();
  const auto equivalent = [](auto of) { return via(&Line::equivalent, of); };
  append(columns, summary_columns<Line>("accuracy_pct", "accuracy, %",
                                        [](const Line& line) { return line.row->accuracy; }));
  append(columns, {{"n", "seeds", equivalent(&EquivalentLength::n)},
                   number_column<Line>("epochs", "epochs", &Line::epochs, "{:.2f}"),
                   {.name = "exact_runs", .value = equivalent(&EquivalentLength::runs)},
                   {.name = "exact_lengths", .value = equivalent(&EquivalentLength::lengths)},
                   {.name = "exact_shortest", .value = equivalent(&EquivalentLength::shortest)},
                   {.name = "exact_longest", .value = equivalent(&EquivalentLength::longest)},
                   {.name = "equivalent_place", .value = equivalent(&EquivalentLength::place)},
                   {"equivalent_epochs", "exact epochs as accurate",
                    equivalent(&EquivalentLength::length), length_text},
                   {.name = "equivalent_epochs_lo", .value = equivalent(&EquivalentLength::lo)},
                   {.name = "equivalent_epochs_hi", .value = equivalent(&EquivalentLength::hi)}});
  append(columns, bounded_columns("breakeven", "break-even", &Line::breakeven, breakeven_text));
  const auto timed = [](auto... of) { return via(&Line::timed, of...); };
  append(columns, {{"machine", "machine", timed(&MachineSpeedup::machine)},
                   {.name = "cpu",
                    .header = "processor",
                    .value = timed(&MachineSpeedup::cpu),
                    .shown = several_machines}});
  append(columns, ratio_columns<Line>("speedup", "speedup vs exact",
                                      [](const Line& line) { return line.timed.speedup; }));
  columns.push_back({.name = "speedup_runs", .value = timed(&MachineSpeedup::speedup, &Ratio::n)});
  append(columns, bounded_columns("gap_pct", "gap, %", &Line::gap, gap_text));
  append(columns, {{"pays", "pays?", via(&Line::pays)},
                   {"reason", "why", &Line::reason},
                   notes_column<Line>(letters)});
  return columns;
}

// A line for each row of a method and each machine that timed it: the length of exact training
// that is as accurate as the method (equivalent_length in results/stats/breakeven.h, by the exact
// trainings of exact_curve in results/rows/exact_curve.h), the row's own length over that as the
// break-even speedup, and whether the measured speedup is above it. Rows without a curve are named
// below. Throws Error(kUsage) where there are rows of methods and none has a curve.
Table report_breakeven(const Snapshot& snapshot, const ReportOptions& options) {
  const RowSet set(snapshot, options);
  const auto trials = read_trials(snapshot);
  std::vector<BreakevenLine> lines;
  std::vector<std::string> left_out;
  std::vector<const Row*> shown;
  int64_t most_lengths = 0;
  for (const auto& row : set.rows()) {
    if (is_dense(*row.first) || row.accuracy.n == 0) continue;
    const ExactCurve curve = exact_curve(set, row);
    const EquivalentLength equivalent = equivalent_length(curve.exact, curve.method);
    if (equivalent.place != CurvePlace::kNoCurve) {
      add_lines(row, curve, equivalent, trials, lines);
      shown.push_back(&row);
      continue;
    }
    most_lengths = std::max(most_lengths, equivalent.lengths);
    left_out.push_back(fmt::format("left out: {} on {}, with exact training of {} of {} lengths",
                                   method_text(*row.first), row.first->network_label,
                                   equivalent.lengths, kLengthsForACurve));
  }
  if (lines.empty() && !left_out.empty()) {
    throw usage_error(
        "report breakeven: the store has exact training of {} {} beside a method, a curve takes "
        "{} from half of the method's length on. Add exact_lengths to the experiment and sweep it "
        "again",
        most_lengths, most_lengths == 1 ? "length" : "lengths", kLengthsForACurve);
  }
  // A curve has no pairs, and neither throughput nor seconds stand here.
  const auto letters = letters_of(lines, {kShared, kUnpaired, kStockBuild, kMixedHosts,
                                          kTimesElsewhere, kShortSeconds, kStopped});
  std::set<int64_t> machines;
  for (const auto& line : lines) {
    if (line.timed.speedup.n > 0) machines.insert(line.timed.host_id);
  }
  Table table =
      table_of(options.experiment, breakeven_columns(set, letters, machines.size() > 1), lines);
  if (lines.empty()) return table;
  table.notes = letters.lines();
  table.notes.insert(table.notes.end(), left_out.begin(), left_out.end());
  if (auto within = compared_within(shown); !within.empty()) table.notes.push_back(within);
  for (const char* note :
       {"break-even: the speedup at which the method takes as long as the exact training that is "
        "as accurate, its own epochs over those of exact training. It has no machine in it",
        "exact epochs as accurate: read from a curve through all exact trainings of half to twice "
        "the method's length, a parabola in the logarithm of the length that does not fall, with "
        "its 95 % interval over seeds; < and >: beyond the lengths that were trained",
        "gap: the measured speedup over break-even, less 1. Pays: yes where all of its 95 % "
        "interval is above 0, no where all is below, by ten processes of one machine and six "
        "seeds, where tuned learning rates are enclosed; no where runs diverged; else undecided"}) {
    table.notes.emplace_back(note);
  }
  return table;
}

REGISTER_REPORT("breakeven", report_breakeven)
    .at(14)
    .about("How fast each method must be to pay, by exact trainings of several lengths")
    .made_of("accuracy runs of methods and of dense");

}  // namespace
}  // namespace approx
