// How fast a method must be to pay, and whether it is.
#include "results/stats/breakeven.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "results/render/column.h"
#include "results/reports/report.h"
#include "results/reports/worth.h"
#include "results/rows/answer.h"
#include "results/rows/best_exact.h"
#include "results/rows/break_even.h"
#include "results/rows/exact_curve.h"
#include "results/rows/open_rate.h"
#include "results/rows/row_columns.h"
#include "results/rows/rows.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

// What a line is of. The picture draws all of them; people read the methods' lines.
enum class LinePart { kMethod, kExact, kCurve };

constexpr auto enum_texts(LinePart) {
  return std::to_array<EnumText<LinePart>>(
      {{LinePart::kMethod, "method"}, {LinePart::kExact, "exact"}, {LinePart::kCurve, "curve"}});
}

struct BreakevenLine {
  LinePart part = LinePart::kMethod;
  const Row* row = nullptr;
  Notes notes = {};
  double epochs = 0;
  Summary accuracy;                     // percent
  std::optional<int64_t> n;             // trainings
  std::optional<BreakEven> needed;      // of a method
  std::optional<MachineSpeedup> timed;  // of a method that was timed
  Bounded gap;                          // percent
  std::optional<Reasoned> pays;         // of a method
};

// A line for each machine that timed the row, one without any.
void add_lines(const Row& row, const BreakEven& needed, const ArmTrials& trials,
               std::vector<BreakevenLine>& lines) {
  BreakevenLine line{.row = &row, .notes = row.notes, .epochs = needed.curve.epochs};
  line.accuracy = row.accuracy;
  line.n = needed.equivalent.n;
  line.needed = needed;
  // What the row's own notes say of pairs with its exact training is not said of the curve.
  line.notes[kUnpaired] = line.notes[kMixedBuilds] = line.notes[kPairsOfMachines] = false;
  for (size_t note = 0; note < line.notes.size(); ++note)
    line.notes[note] |= needed.curve.notes[note];
  const auto add = [&](const Ratio& speedup, int64_t occasions) {
    line.gap = percent_above(speedup, needed.speedup);
    line.notes[kFewProcesses] = speedup.n > 0 && speedup.n < kProcessesForATiming;
    line.pays = unless(rate_obstacle(row, trials), pays(row, needed, speedup, occasions));
    lines.push_back(line);
  };
  const auto machines = speedups_by_machine(row);
  if (machines.empty()) add(Ratio(), 0);
  for (const auto& machine : machines) {
    line.timed = machine;
    add(machine.speedup, machine.occasions);
  }
}

// The exact trainings that a curve is fitted to, a line a length, and the curve at some lengths.
void add_curve(const Row& dense, const BreakEven& needed, std::vector<BreakevenLine>& lines) {
  std::map<double, std::vector<double>> by_length;
  for (const auto& training : needed.curve.exact) {
    by_length[training.length].push_back(training.accuracy);
  }
  for (const auto& [length, accuracies] : by_length) {
    BreakevenLine line{.part = LinePart::kExact, .row = &dense, .epochs = length};
    line.accuracy = summarize(accuracies);
    line.n = line.accuracy.n;
    lines.push_back(line);
  }
  for (const auto& [length, accuracy] : fitted_curve(needed.curve.exact)) {
    BreakevenLine line{.part = LinePart::kCurve, .row = &dense, .epochs = length};
    line.accuracy = summarize(std::vector<double>{accuracy});
    lines.push_back(line);
  }
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

// "6 comparisons: none pays, 4 do not, 2 undecided."; "" without lines.
std::string pays_sentence(const std::vector<BreakevenLine>& lines) {
  std::map<Answer, int64_t> answers;
  for (const auto& line : lines) {
    if (line.pays) ++answers[line.pays->answer];
  }
  if (answers.empty()) return "";
  const int64_t yes = answers[Answer::kYes], no = answers[Answer::kNo],
                undecided = answers[Answer::kUndecided], all = yes + no + undecided;
  std::string text = fmt::format("{} {}: ", all, all == 1 ? "comparison" : "comparisons");
  text += yes == 0 ? "none pays" : fmt::format("{} {}", yes, yes == 1 ? "pays" : "pay");
  if (no > 0) text += fmt::format(", {} {} not", no, no == 1 ? "does" : "do");
  if (undecided > 0) text += fmt::format(", {} undecided", undecided);
  return text + ".";
}

// `several_machines`: whether machines must be told apart, whose names may be alike.
Columns<BreakevenLine> breakeven_columns(const RowSet& set, const NoteLetters& letters,
                                         bool several_machines) {
  using Line = BreakevenLine;
  Columns<Line> columns = row_columns<Line>(set, &letters).all();
  const auto needed = [](auto... of) { return via(&Line::needed, of...); };
  const auto equivalent = [&](auto of) { return needed(&BreakEven::equivalent, of); };
  columns.insert(columns.begin(), Column<Line>{.name = "part", .value = via(&Line::part)});
  append(columns, summary_columns<Line>("accuracy_pct", "accuracy, %", &Line::accuracy));
  append(columns,
         {{"n", "seeds", via(&Line::n)},
          number_column<Line>("epochs", "epochs", &Line::epochs, "{:.2f}"),
          {.name = "exact_runs", .value = equivalent(&EquivalentLength::runs)},
          {.name = "exact_lengths", .value = equivalent(&EquivalentLength::lengths)},
          {.name = "exact_shortest", .value = equivalent(&EquivalentLength::shortest)},
          {.name = "exact_longest", .value = equivalent(&EquivalentLength::longest)},
          {.name = "equivalent_place", .value = equivalent(&EquivalentLength::place)},
          {"equivalent_epochs", "exact epochs as accurate", equivalent(&EquivalentLength::length),
           [](const Line& line) { return equivalent_text(*line.needed); }},
          {.name = "equivalent_epochs_lo", .value = equivalent(&EquivalentLength::lo)},
          {.name = "equivalent_epochs_hi", .value = equivalent(&EquivalentLength::hi)}});
  append(columns,
         bounded_columns<Line>(
             "breakeven", "break-even",
             [](const Line& line) { return line.needed ? line.needed->speedup : Bounded(); },
             [](const Line& line) { return breakeven_text(*line.needed); }));
  const auto timed = [](auto... of) { return via(&Line::timed, of...); };
  append(columns, {{"machine", "machine", timed(&MachineSpeedup::machine)},
                   {.name = "cpu",
                    .header = "processor",
                    .value = timed(&MachineSpeedup::cpu),
                    .shown = several_machines}});
  append(columns, ratio_columns<Line>("speedup", "speedup vs exact", [](const Line& line) {
           return line.timed ? line.timed->speedup : Ratio();
         }));
  columns.push_back({.name = "speedup_runs", .value = timed(&MachineSpeedup::speedup, &Ratio::n)});
  append(columns, bounded_columns<Line>("gap_pct", "gap, %", &Line::gap, gap_text));
  append(columns, {{"pays", "pays?", via(&Line::pays, &Reasoned::answer)},
                   {"reason", "why", via(&Line::pays, &Reasoned::reason)},
                   notes_column<Line>(letters)});
  return columns;
}

// A line for each row of a method and each machine that timed it: the length of exact training
// that is as accurate as the method, the row's own length over that as the break-even speedup, and
// whether the measured speedup is above it (results/rows/break_even.h). Rows without a curve are
// named below. For programs also the exact trainings, and the curve. Throws Error(kUsage) where
// there are rows of methods and none has a curve.
Table report_breakeven(const Snapshot& snapshot, const ReportOptions& options) {
  const auto rows_there = rows_of(snapshot, options);
  const RowSet& set = *rows_there;
  const auto trials = read_trials(snapshot);
  std::vector<BreakevenLine> lines, curves;
  std::set<std::pair<const Row*, double>> drawn;  // exact rows and lengths of a method
  std::vector<std::string> left_out;
  std::vector<const Row*> shown;
  int64_t most_lengths = 0;
  for (const auto& row : set.rows()) {
    if (is_dense(*row.first) || row.accuracy.n == 0) continue;
    const BreakEven needed = break_even(set, row);
    if (needed.has_curve()) {
      add_lines(row, needed, trials, lines);
      shown.push_back(&row);
      if (drawn.emplace(row.dense, needed.curve.epochs).second)
        add_curve(*row.dense, needed, curves);
      continue;
    }
    const int64_t lengths = needed.equivalent.lengths;
    most_lengths = std::max(most_lengths, lengths);
    left_out.push_back(fmt::format("left out: {} on {}, with exact training of {} of {} lengths",
                                   method_text(*row.first), row.first->network_label, lengths,
                                   kLengthsForACurve));
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
                                          kTimesElsewhere, kShortSeconds, kStopped, kPatience});
  std::set<int64_t> machines;
  for (const auto& line : lines) {
    if (line.timed && line.timed->speedup.n > 0) machines.insert(line.timed->host_id);
  }
  const auto columns = breakeven_columns(set, letters, machines.size() > 1);
  Table table = table_of(options.experiment, columns, lines);
  table.screen.keys = {"network", "dataset", "setting", "tuned_rate", "schedule", "machine", "cpu"};
  table.screen.results = {"method", "accuracy_pct", "breakeven", "speedup", "gap_pct", "pays"};
  table.screen.headline = pays_sentence(lines);
  if (lines.empty()) return table;
  table.screen.next = picture_command("breakeven", options);
  std::ranges::copy(curves, std::back_inserter(lines));
  table.rows.clear();
  fill_values(table, columns, lines);
  table.notes = letters.lines();
  table.notes.insert(table.notes.end(), left_out.begin(), left_out.end());
  if (auto within = compared_within(shown); !within.empty()) table.notes.push_back(within);
  for (const char* note :
       {"break-even: the speedup at which the method takes as long as the exact training that is "
        "as accurate. It is the method's epochs over those of exact training: no machine is in it",
        "exact epochs as accurate: read from a curve through all exact trainings of half to twice "
        "the method's length, with its 95 % interval over seeds. The curve is a parabola in the "
        "logarithm of the length that does not fall. < and >: beyond the lengths that were trained",
        "gap: the measured speedup over break-even, minus 1. Pays: yes if its whole interval is "
        "above 0, no if all is below 0 or runs diverged, else undecided",
        "a verdict needs six seeds, and ten processes of one machine; five if the speedup's 99.9 % "
        "interval is enough. A speedup of one day and build may be 3 % off. Tuned learning rates "
        "must be enclosed"}) {
    table.notes.emplace_back(note);
  }
  return table;
}

REGISTER_REPORT("breakeven", report_breakeven)
    .at(14)
    .about("How fast each method must be to pay, by exact trainings of several lengths")
    .drawn_by("breakeven")
    .made_of("accuracy runs of methods and of dense");

}  // namespace
}  // namespace approx
