#include "results/reports/advice.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "results/render/column.h"
#include "results/reports/report.h"
#include "results/rows/answer.h"
#include "results/rows/best_exact.h"
#include "results/rows/break_even.h"
#include "results/rows/open_rate.h"
#include "results/rows/row_columns.h"
#include "results/rows/rows.h"
#include "results/rows/same_time.h"
#include "results/rows/target_rows.h"
#include "results/stats/deciding.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

constexpr Margin kWorthMargin = Margin::of_error(0.1);

// Where and when the runs of a row, of its dense row and of its control were made.
struct Origin {
  std::string machine, commit, since;  // since: the newest run's start
};

Origin origin_of(const Row& row, const Row* control) {
  Origin origin;
  std::set<int64_t> machines;  // ids: two may have one name
  for (const Row* part : {&row, row.dense, control}) {
    if (part == nullptr) continue;
    for (const auto& [cell, run] : runs_of(*part, std::nullopt, /*diverged=*/true)) {
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

struct Advice {
  Answer worth = Answer::kUndecided;
  std::string decided_by, reason;  // by the parts that made it so: all three where it is yes
};

// Is a step faster than the best exact one, of the precision that `best` names?
Reasoned speed_part(const Row& row, const BestExact& best) {
  if (row.speedup.n == 0) return undecided(speedup_obstacle(row));
  if (auto unsound = unsound_speedup(row); !unsound.empty()) return undecided(std::move(unsound));
  const bool elsewhere = best.precision != row.first->config.precision;
  const std::string than =
      elsewhere ? fmt::format("exact training in {}", name(best.precision)) : "dense";
  const Ratio measured = speedup_over(best, row);
  const Ratio speedup = deciding(measured, occasions_over(best, row));
  if (!speedup.lo) {
    return undecided(fmt::format("{} was {}", elsewhere ? than : "its speed",
                                 timed_in_few(measured.n, kProcessesForATiming)));
  }
  if (speedup.most() < 1) return {Answer::kNo, "slower than " + than};
  if (speedup.most() < 1 + kLeastEffect) return {Answer::kNo, "no gain of 2 % or more"};
  if (speedup.least() > 1) return {Answer::kYes, "faster"};
  if (measured.least() <= 1) return undecided("its speedup cannot be told from 1");
  if (measured.n < kProcessesForAVerdict) {
    return undecided(fmt::format("its speedup cannot be told from 1 by {} processes, {} may do",
                                 measured.n, kProcessesForAVerdict));
  }
  return undecided(
      "its speedup is within 3 % of 1, and was timed on one occasion: time it again on "
      "another day");
}

// Does it lose no more than the margin?
Reasoned loss_part(const Row& row, const NonInferiorityTest& test, double points) {
  const std::string margin = fixed(points, 2) + " points";
  if (row.notes[kDiverged]) return {Answer::kNo, "runs diverged"};
  if (row.loss.n == 0) return undecided("its accuracy was not measured beside dense");
  if (row.loss.n < kSeedsForAVerdict) {
    return undecided(
        fmt::format("{} cannot bound the loss, {} can", seeds_text(row.loss.n), kSeedsForAVerdict));
  }
  switch (test.verdict) {
    case NonInferiority::kInferior:
      return {Answer::kNo, "loses more than " + margin};
    case NonInferiority::kNonInferior:
      return {Answer::kYes, "loses no more than " + margin};
    case NonInferiority::kInconclusive:
      break;
  }
  return undecided("the loss may be above " + margin);
}

// The method minus the exact training, "1.10 ± 0.75".
std::string ahead_text(PairedDifference advantage, bool with_n = true) {
  advantage.mean = -advantage.mean;
  const bool bare = !with_n && advantage.n > 0 && !advantage.half;
  return bare ? fixed(advantage.mean, 2) : with_interval(advantage, 2);
}

// Does it beat the exact training of the same time?
Reasoned same_time_part(const Row& row, const SameTime& control) {
  const auto& advantage = control.advantage;
  const auto& sooner = control.sooner;
  const std::string ahead =
      fmt::format("{} points ahead of dense in the same time", ahead_text(advantage));
  if (row.speedup.n > 0 && row.speedup.least() <= 1) {
    return undecided("perhaps not faster, so that no exact training is shorter");
  }
  if (sooner.n >= kSeedsForAVerdict && sooner.half && sooner.mean - *sooner.half > 0) {
    return {Answer::kNo, fmt::format("{} points ahead of dense in no more time, {:.2f} epochs",
                                     ahead_text(sooner), control.sooner_trained)};
  }
  if (control.source == SameTimeSource::kNone) {
    return undecided(row.speedup.n > 0
                         ? "no exact training of the same time (sweep --controls iso-time)"
                         : "how long an exact training of the same time is takes its speed");
  }
  if (advantage.n < kSeedsForAVerdict || !advantage.half) {
    return undecided(
        fmt::format("{} of the exact training of the same time say too little, {} do not",
                    seeds_text(advantage.n), kSeedsForAVerdict));
  }
  if (advantage.mean - *advantage.half > 0) {
    return undecided(fmt::format("{}, whose {:.2f} epochs may be longer", ahead, control.trained));
  }
  if (advantage.mean + *advantage.half >= 0) return undecided(ahead);
  if (control.enough) return {Answer::kYes, ahead};
  return undecided(fmt::format("{}, which had {:.2f} of the {:.2f} epochs that may fit", ahead,
                               control.trained, control.epochs));
}

// A curve of few seeds says less than pairs with an exact training of the same time.
bool curve_decides(const BreakEven& needed) {
  return needed.has_curve() && needed.equivalent.fewest_seeds >= kSeedsForAVerdict;
}

// Is it faster than exact training that is as accurate?
Reasoned break_even_part(const Row& row, const BestExact& best, const BreakEven& needed) {
  if (auto unsound = unsound_speedup(row); row.speedup.n > 0 && !unsound.empty()) {
    return undecided(std::move(unsound));
  }
  Reasoned found = pays(row, needed, speedup_over(best, row), occasions_over(best, row));
  if (found.answer != Answer::kUndecided) found.reason += ", " + breakeven_text(needed);
  return found;
}

// No, where one part says so; yes, where all do.
Advice advise(const std::vector<std::pair<const char*, Reasoned>>& parts) {
  Advice advice;
  const auto says = [&](Answer answer) {
    return std::ranges::any_of(parts,
                               [=](const auto& part) { return part.second.answer == answer; });
  };
  advice.worth = says(Answer::kNo)          ? Answer::kNo
                 : says(Answer::kUndecided) ? Answer::kUndecided
                                            : Answer::kYes;
  for (const auto& [name, part] : parts) {
    if (part.answer != advice.worth) continue;
    const bool first = advice.decided_by.empty();
    advice.decided_by += (first ? "" : ", ") + std::string(name);
    advice.reason += (first ? "" : "; ") + part.reason;
  }
  return advice;
}

struct AdviceLine {
  const Row* row = nullptr;
  Notes notes = {};  // of its row and of its pairs with the exact training of the same time
  Origin origin;
  std::optional<double> margin;  // points; of an error that is measured
  NonInferiorityTest test;       // of its loss against dense
  bool rates_enclosed = true;    // its own and dense's, where they were tuned
  BestExact best;
  SameTime control;
  BreakEven needed;
  const TargetRow* target = nullptr;  // nullptr without one
  Advice advice;
  Worth worth;
};

// The verdict is on the losses beyond the margin, the bounds are of the losses.
NonInferiorityTest loss_test(const Row& row, const Margin& margin) {
  NonInferiorityTest test = non_inferiority(losses(row, *row.dense), /*margin=*/0);
  const auto beyond = losses_beyond(paired_losses(row, *row.dense), margin);
  test.verdict = non_inferiority(beyond, /*margin=*/0).verdict;
  return test;
}

AdviceLine advice_line(const RowSet& set, const Row& row, const Margin& margin,
                       const std::vector<TargetRow>& targets, const ArmTrials& trials) {
  AdviceLine line{.row = &row, .notes = row.notes};
  if (row.dense != nullptr && row.dense->accuracy.n > 0) {
    line.margin = margin.points(100 - row.dense->accuracy.mean);
    line.test = loss_test(row, margin);
  }
  line.target = target_of(targets, row);
  if (line.target != nullptr) line.notes[kFewTargetRuns] = line.target->notes[kFewTargetRuns];
  line.control = same_time(
      set, row, line.target == nullptr ? std::nullopt : std::optional(line.target->target.share));
  line.origin = origin_of(row, line.control.row);
  line.notes[kPairsOfMachines] |= line.control.other_machines;
  line.notes[kMixedBuilds] |= line.control.other_builds;
  line.best = best_exact(set, row, margin, trials);
  line.needed = break_even(set, row);
  const bool by_curve = curve_decides(line.needed);
  Reasoned shorter =
      by_curve ? break_even_part(row, line.best, line.needed) : same_time_part(row, line.control);
  if (line.best.precision != row.first->config.precision && shorter.answer == Answer::kYes) {
    shorter = undecided(fmt::format("no exact training in {} of {}", name(line.best.precision),
                                    by_curve ? "several lengths" : "the same time"));
  }
  const std::string rate = rate_obstacle(row, trials);
  line.rates_enclosed = rate.empty();
  const Reasoned speed = speed_part(row, line.best);
  const Reasoned loss = unless(rate, loss_part(row, line.test, line.margin.value_or(0)));
  shorter = unless(rate, shorter);
  line.advice =
      advise({{"speed", speed}, {"loss", loss}, {by_curve ? "break-even" : "same time", shorter}});
  const auto says = [](const Reasoned& part, Answer answer) { return part.answer == answer; };
  line.worth = {.answer = line.advice.worth,
                .loses = says(loss, Answer::kNo),
                .slow = says(speed, Answer::kNo),
                .beaten = says(shorter, Answer::kNo)};
  if (says(speed, Answer::kUndecided) && unsound_speedup(row).empty()) {
    line.worth.timings = std::max<int64_t>(0, kProcessesForAVerdict - row.speedup.n);
  }
  if (says(loss, Answer::kUndecided) && rate.empty()) {
    line.worth.seeds = std::max<int64_t>(0, kSeedsForAVerdict - row.loss.n);
    line.worth.any_seeds = line.worth.seeds == 0;
  }
  line.worth.same_time = says(shorter, Answer::kUndecided) && !by_curve && rate.empty() &&
                         line.control.source == SameTimeSource::kNone && row.speedup.n > 0 &&
                         row.speedup.least() > 1;
  return line;
}

std::vector<AdviceLine> advice_lines(const RowSet& set, const Snapshot& snapshot,
                                     const ReportOptions& options,
                                     const std::vector<TargetRow>& targets) {
  const Margin margin = options.margin.value_or(kWorthMargin);
  const auto trials = read_trials(snapshot);
  std::vector<AdviceLine> lines;
  for (const auto& row : set.rows()) {
    if (row.dense == &row || is_dense(*row.first)) continue;
    if (row.speedup.n == 0 && row.loss.n == 0) continue;
    lines.push_back(advice_line(set, row, margin, targets, trials));
  }
  return lines;
}

Worths worths_of_lines(const std::vector<AdviceLine>& lines) {
  Worths worths;
  for (const auto& line : lines) worths[line.row] = line.worth;
  return worths;
}

// " (n=6, p=0.031)": parts that are not "".
std::string in_brackets(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) {
    if (!part.empty()) text += (text.empty() ? " (" : ", ") + part;
  }
  return text + ")";
}

std::string advice_loss_text(const RowSet& set, const AdviceLine& line) {
  const auto& loss = line.row->loss;
  if (!loss.half) return with_interval(loss, 2);
  return with_interval(loss, 2) +
         in_brackets({fmt::format("n={}", loss.n), set.loss_p_text(*line.row)});
}

std::string same_time_text(const AdviceLine& line) {
  const auto& control = line.control;
  if (control.source == SameTimeSource::kNone) return "–";
  const double epochs = control.trained > 0 ? control.trained : control.epochs;
  const auto& advantage = control.advantage;
  return ahead_text(advantage, /*with_n=*/false) +
         in_brackets({fmt::format("n={}", advantage.n),
                      loss_p_text(advantage.p, advantage.n, /*tests=*/1),
                      fixed(epochs, 2) + " epochs"});
}

// "1.31× [1.20, 1.43]; 60.00 % reached 6/6, dense in the same time 4/6", the target rounded as
// report_tta rounds it. Of step times that may have
// shared the machine there is no ratio here.
std::string advice_target_text(const AdviceLine& line) {
  if (line.target == nullptr) return "–";
  std::string text = fmt::format(
      "{}; {} % reached {}/{}", line.target->is_isolated() ? speedup_text(*line.target) : "–",
      fixed(shown_percent(line.target->target), 2), line.target->time.reached, line.target->time.n);
  if (line.control.tried > 0) {
    text += fmt::format(", dense in the same time {}/{}", line.control.reached, line.control.tried);
  }
  return text;
}

// The word for a loss beside its margin. At rates that are not enclosed a loss may be the rate's.
NonInferiority verdict_of_loss(const AdviceLine& line) {
  if (line.row->notes[kDiverged]) return NonInferiority::kInferior;
  if (line.row->loss.n < kSeedsForAVerdict || !line.rates_enclosed) {
    return NonInferiority::kInconclusive;
  }
  return line.test.verdict;
}

// `across`: whether some line is held against an exact step of another precision. `curves`: whether
// some has exact trainings of several lengths. `margin_given`: whether the user set the margin.
Columns<AdviceLine> advice_columns(const RowSet& set, const NoteLetters& letters, bool across,
                                   bool curves, bool margin_given) {
  using Line = AdviceLine;
  const auto what = row_columns<Line>(set);
  const auto method = [&letters](const Line& line) {
    return method_text(*line.row->first) + letters.marks(line.notes);
  };
  Columns<Line> columns = {what.network,
                           what.dataset,
                           what.setting,
                           what.tuned_rate,
                           {"machine", "machine", via(&Line::origin, &Origin::machine)},
                           {.name = "schedule", .value = what.schedule.value},
                           {"method", "method, schedule", what.method.value, method},
                           {"worth", "worth it?", via(&Line::advice, &Advice::worth)},
                           {"decided_by", "decided by", via(&Line::advice, &Advice::decided_by)},
                           {.name = "reason", .value = via(&Line::advice, &Advice::reason)}};
  append(columns, speedup_columns<Line>(set));
  auto best = ratio_columns<Line>("speedup_vs_best", "vs best exact", [](const Line& line) {
    return speedup_over(line.best, *line.row);
  });
  best.push_back({"best_exact", "best exact", via(&Line::best, &BestExact::precision)});
  best.front().shown = best.back().shown = across;
  append(columns, best);
  const auto loss = [](auto... of) { return via(&Line::row, &Row::loss, of...); };
  const auto lead = [](auto... of) { return via(&Line::control, &SameTime::advantage, of...); };
  const auto control = [](auto of) { return via(&Line::control, of); };
  const auto since = [](const Line& line) { return line.origin.since.substr(0, 10); };
  const auto loss_verdict = [](const Line& line) {
    return line.margin ? Field(std::string(name(verdict_of_loss(line)))) : Field();
  };
  append(columns, {{"loss_pp", "loss, pp", loss(),
                    [&set](const Line& line) { return advice_loss_text(set, line); }},
                   {.name = "loss_pp_lower", .value = via(&Line::test, &NonInferiorityTest::lower)},
                   {.name = "loss_pp_upper", .value = via(&Line::test, &NonInferiorityTest::upper)},
                   {.name = "n", .value = loss(&PairedDifference::n)},
                   {.name = "loss_p", .value = loss(&PairedDifference::p)},
                   {.name = "loss_p_holm", .value = via(&Line::row, &Row::loss_p_holm)},
                   number_column<Line>("margin_pp", "margin, pp", &Line::margin, "{:.2f}"),
                   {.name = "loss_verdict",
                    .header = "loss within the margin",
                    .value = loss_verdict,
                    .shown = margin_given},
                   {"measured_utc", "measured", via(&Line::origin, &Origin::since), since},
                   {.name = "commit", .value = via(&Line::origin, &Origin::commit)},
                   {"iso_time_pp", "ahead of dense in the same time, pp", lead(), same_time_text},
                   {.name = "iso_time_pp_half", .value = lead(&PairedDifference::half)},
                   {.name = "iso_time_p", .value = lead(&PairedDifference::p)},
                   {.name = "iso_time_n", .value = lead(&PairedDifference::n)},
                   {.name = "iso_time_epochs", .value = control(&SameTime::epochs_or_none)},
                   {.name = "iso_time_trained", .value = control(&SameTime::trained_or_none)},
                   {.name = "iso_time_source", .value = control(&SameTime::source)}});
  auto needed = bounded_columns<Line>(
      "breakeven", "break-even", [](const Line& line) { return line.needed.speedup; },
      [](const Line& line) { return breakeven_text(line.needed); });
  needed.front().shown = curves;
  append(columns, needed);
  append(columns, ratio_columns<Line>("target_speedup", "", [](const Line& line) {
           return line.target == nullptr ? Ratio() : line.target->isolated_speedup();
         }));
  const auto time = [](auto of) { return via(&Line::target, &TargetRow::time, of); };
  append(columns,
         {{.name = "target_pct", .value = via(&Line::target, &TargetRow::target, shown_percent)},
          {"target_reached", "time to target", time(&TargetTime::reached), advice_target_text},
          {.name = "target_runs", .value = time(&TargetTime::n)},
          {.name = "iso_time_reached", .value = control(&SameTime::reached)},
          {.name = "iso_time_runs", .value = control(&SameTime::tried)},
          notes_column<Line>(letters),
          {.header = "why", .text = [](const Line& line) { return line.advice.reason; }}});
  return columns;
}

// What a reader must know first: in which precision the exact training is, and which faster ones do
// not stand for it.
std::vector<std::string> precision_notes(const std::vector<AdviceLine>& lines) {
  std::vector<const Row*> rows;
  std::set<std::string> networks;
  for (const auto& line : lines) {
    rows.push_back(line.row);
    networks.insert(line.row->first->network_label);
  }
  std::set<std::string> left_out;
  for (const auto& line : lines) {
    const std::string of =
        networks.size() > 1 ? line.row->first->network_label + ": " : std::string();
    for (const auto& other : line.best.left_out) {
      left_out.insert(of + "not compared with exact training in " + other);
    }
  }
  std::vector<std::string> notes(left_out.begin(), left_out.end());
  if (auto within = compared_within(rows); !within.empty()) {
    notes.insert(notes.begin(), std::move(within));
  }
  return notes;
}

// One line for each (network, data set, setting, machine, method and schedule): whether it is
// worth using, by how much, at what risk, and when that was measured.
Table report_advice(const Snapshot& snapshot, const ReportOptions& options) {
  const auto rows_there = rows_of(snapshot, options);
  const RowSet& set = *rows_there;
  const Margin margin = options.margin.value_or(kWorthMargin);
  const auto targets = target_rows(set, options);
  const auto lines = advice_lines(set, snapshot, options, targets);
  const bool across = std::ranges::any_of(lines, [](const AdviceLine& line) {
    return line.best.precision != line.row->first->config.precision;
  });
  const bool curves =
      std::ranges::any_of(lines, [](const AdviceLine& line) { return line.needed.has_curve(); });
  // Neither throughput nor seconds stand here.
  const auto letters = letters_of(lines, {kShared, kTimesElsewhere, kShortSeconds});
  const auto columns = advice_columns(set, letters, across, curves, options.margin.has_value());
  Table table = table_of(options.experiment, columns, lines);
  if (lines.empty()) return table;
  table.notes = {
      fmt::format(
          "yes: the speedup's whole 95 % interval is above 1, the loss is surely below {}, and "
          "exact training of the same time is worse. The loss is judged by its one-sided "
          "95 % bound and at least {} seeds",
          margin.text(), kSeedsForAVerdict),
      "no: slower, no gain of 2 %, surely a larger loss, or surely no better than exact training "
      "of the same time. Else undecided",
      "with exact trainings of three lengths and six seeds, break-even decides instead of the same "
      "time. The method must then be faster than the exact training that is as accurate",
      "a speedup of one day and build may be 3 % off. Accuracies decide only if the tuned learning "
      "rates are enclosed",
      "ahead of dense in the same time: the method's accuracy minus that of exact training stopped "
      "at the same time. The lower bound of the speedup sets that time. Under a constant learning "
      "rate it is read from the dense runs' curves at the next evaluation, else from runs of their "
      "own",
      "p of ahead: exact sign-flip test of the pairs, not adjusted for the number of methods. In "
      "CSV and JSON iso_time_pp has the other sign: dense's lead",
      "these verdicts hold only for the networks, data, settings and machines in these rows"};
  const auto lettered = letters.lines();
  table.notes.insert(table.notes.begin(), lettered.begin(), lettered.end());
  if (curves) {
    table.notes.emplace_back(
        "break-even: the speedup at which the method takes as long as the exact training that is "
        "as accurate (report breakeven)");
  }
  if (const auto note = set.holm_note(); !note.empty()) table.notes.push_back(note);
  if (const auto note = set.stock_note(); !note.empty()) table.notes.push_back(note);
  const auto precisions = precision_notes(lines);
  table.notes.insert(table.notes.begin(), precisions.begin(), precisions.end());
  table.screen.keys = {"network", "dataset", "setting", "tuned_rate", "machine"};
  table.screen.results = {"method", "worth", "speedup", "loss_pp", "why"};
  if (options.verdicts) {
    const auto worths = worths_of_lines(lines);
    table.screen.headline = worth_sentence(worths);
    table.screen.next = deciding_command(worths, snapshot, options);
    if (table.screen.next.empty()) table.screen.next = {"report", "html", "--out", "report.html"};
  }
  return table;
}

REGISTER_REPORT("advice", report_advice)
    .at(7)
    .about("Whether each method is worth using, and at what risk")
    .made_of("accuracy and timing runs of methods and of dense");

}  // namespace

Worths worths_of(const RowSet& set, const Snapshot& snapshot, const ReportOptions& options) {
  return worths_of_lines(advice_lines(set, snapshot, options, target_rows(set, options)));
}

}  // namespace approx
