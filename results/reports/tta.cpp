// Time to a target.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "results/reports/report.h"
#include "results/reports/worth.h"
#include "results/rows/row_columns.h"
#include "results/rows/rows.h"
#include "results/rows/target_rows.h"

namespace approx {
namespace {

std::string seconds_text(const std::optional<double>& value,
                         const std::optional<double>& half = std::nullopt) {
  if (!value) return "–";
  return fixed(*value, 1) + (half ? " ± " + fixed(*half, 1) : "") + " s";
}

// "2.0 s [1.5, 3.0]"; the upper end is a dash if it is not known.
std::string median_text(const TargetRow& line) {
  const auto &lo = line.time.median_lo, &hi = line.time.median_hi;
  const std::string text = seconds_text(line.time.median);
  if (!line.time.median || !lo) return text;
  return fmt::format("{} [{}, {}]", text, fixed(*lo, 1), hi ? fixed(*hi, 1) : "–");
}

std::string restarts_text(const TargetRow& line) {
  return seconds_text(line.time.expected_with_restarts, line.time.restarts_half);
}

std::string target_text_of(const TargetRow& line) {
  return fixed(100 * line.target.share, 2) + " %";
}

std::string reached_text(const TargetRow& line) {
  const auto& interval = line.time.fraction_interval;
  return fmt::format("{}/{} ({}–{} %)", line.time.reached, line.time.n, fixed(100 * interval.lo, 0),
                     fixed(100 * interval.hi, 0));
}

std::string restricted_mean_text(const TargetRow& line) {
  if (!line.time.restricted_mean) return "–";
  return fmt::format("{} (within {})",
                     seconds_text(line.time.restricted_mean, line.time.restricted_half),
                     seconds_text(line.budget));
}

bool is_shared(const TargetRow& line) { return line.step_times == StepTimes::kAccuracyRuns; }

std::string step_times_name(const TargetRow& line) {
  if (line.is_isolated()) return "timing runs";
  return is_shared(line) ? "the accuracy runs, not isolated" : "";
}

// A speedup of steps of the trainings and step times of timing runs.
bool is_composed(const TargetRow& line) { return line.is_isolated() && line.speedup.n > 0; }

std::string joules_text(const TargetRow& line) {
  const auto joules = summarize(line.efforts.joules);
  if (joules.n == 0) return "–";
  const auto half = joules.half ? " ± " + fixed(*joules.half / 1000, 2) : "";
  return fmt::format("{}{} kJ (n={})", fixed(joules.mean / 1000, 2), half, joules.n);
}

using Lines = std::vector<TargetRow>;

// The letters of what must be said of the lines' step times, before those of their rows; 0 where no
// line has it.
struct StepLetters {
  char composed = 0, shared = 0, next = 'a';

  explicit StepLetters(const Lines& lines) {
    if (std::ranges::any_of(lines, is_composed)) composed = next++;
    if (std::ranges::any_of(lines, is_shared)) shared = next++;
  }

  std::string step_time_text(const TargetRow& line) const {
    const std::string text = ratio_text(line.step_time);
    if (is_shared(line)) return fmt::format("{} [{}]", text, shared);
    return is_composed(line) ? fmt::format("{} [{}]", text, composed) : text;
  }
};

Columns<TargetRow> target_columns(const RowSet& set, const StepLetters& steps,
                                  const NoteLetters& letters, bool has_joules) {
  using Line = TargetRow;
  const auto time = [](auto... of) { return via(&Line::time, of...); };
  const auto share = [&](auto end) { return time(&TargetTime::fraction_interval, end); };
  const auto budget = [](const Line& line) {
    return line.machines == 1 ? Field(line.budget) : Field();
  };
  auto columns = row_columns<Line>(set, &letters).all();
  append(columns,
         {{"target_pct", "target", via(&Line::target, shown_percent), target_text_of},
          {.name = "target_origin", .value = via(&Line::target, &TargetChoice::origin)},
          {.name = "target_dense_runs", .value = via(&Line::target, &TargetChoice::dense_runs)},
          {.name = "target_stored", .value = via(&Line::target, &TargetChoice::is_stored)},
          {.name = "runs", .value = time(&TargetTime::n)},
          {"reached", "reached", time(&TargetTime::reached), reached_text},
          {.name = "cut_off", .value = via(&Line::efforts, &Efforts::cut_off)},
          {.name = "stopped_at_target", .value = via(&Line::efforts, &Efforts::stopped)},
          {.name = "out_of_patience", .value = via(&Line::efforts, &Efforts::out_of_patience)},
          {.name = "fraction", .value = time(&TargetTime::fraction)},
          {.name = "fraction_lo", .value = share(&Interval::lo)},
          {.name = "fraction_hi", .value = share(&Interval::hi)},
          {"median_s", "median", time(&TargetTime::median), median_text},
          {.name = "median_s_lo", .value = time(&TargetTime::median_lo)},
          {.name = "median_s_hi", .value = time(&TargetTime::median_hi)},
          {"restricted_mean_s", "restricted mean", time(&TargetTime::restricted_mean),
           restricted_mean_text},
          {.name = "restricted_mean_se", .value = time(&TargetTime::restricted_error)},
          {.name = "restricted_mean_half", .value = time(&TargetTime::restricted_half)},
          {.name = "budget_s", .value = budget},
          {"restart_s", "with restarts", time(&TargetTime::expected_with_restarts), restarts_text},
          {.name = "restart_s_half", .value = time(&TargetTime::restarts_half)}});
  append(columns, ratio_columns<Line>("steps_ratio", "steps ratio", &Line::steps));
  auto step_time = ratio_columns<Line>("step_time_ratio", "× step-time ratio", &Line::step_time);
  step_time.front().text = [steps](const Line& line) { return steps.step_time_text(line); };
  append(columns, step_time);
  append(columns, {{.name = "step_time_source", .value = step_times_name}});
  auto speedup = ratio_columns<Line>("speedup", "= speedup", &Line::speedup);
  speedup.front().text = speedup_text;
  append(columns, speedup);
  const auto joules = [](const Line& line) { return as_field(summarize(line.efforts.joules)); };
  const auto joules_half = [](const Line& line) {
    const auto half = summarize(line.efforts.joules).half;
    return half ? Field(*half) : Field();
  };
  append(columns, {{.name = "pairs", .value = &Line::pairs},
                   {.name = "pairs_arrived", .value = &Line::arrived},
                   {.name = "same_evaluation", .value = via(&Line::same_evaluation)},
                   {"joules_to_target", "energy to target", joules, joules_text, has_joules},
                   {.name = "joules_to_target_half", .value = joules_half},
                   {.name = "joules_runs",
                    .value = via(&Line::efforts, &Efforts::joules, &std::vector<double>::size)},
                   notes_column<Line>(letters)});
  return columns;
}

// Runs that stopped at a target below that of their row.
int64_t stopped_below(const RowSet& set, const std::optional<double>& given) {
  int64_t runs = 0;
  for (const auto& row : set.rows()) {
    const auto target = given ? given : row.target;
    runs += std::count_if(row.stopped.begin(), row.stopped.end(), [&](const Cell* cell) {
      const double stop_at = cell->config.stop_at;
      return target && stop_at > 0 && stop_at < *target && !cell->runs.empty();
    });
  }
  return runs;
}

std::vector<std::string> target_notes(const Lines& lines, const StepLetters& steps,
                                      const NoteLetters& letters, bool has_joules) {
  std::vector<std::string> notes;
  if (has_joules) {
    notes.emplace_back(
        "energy: drawn by whole processors and GPUs while training, over the runs that reached the "
        "target");
  }
  std::set<std::string> origins;
  for (const auto& line : lines) {
    origins.insert(fmt::format("target {}: {}", target_text_of(line), line.target.origin));
  }
  notes.insert(notes.end(), origins.begin(), origins.end());
  const auto moves = [](const TargetRow& line) {
    return line.target.dense_runs && !line.target.is_stored;
  };
  if (std::any_of(lines.begin(), lines.end(), moves)) notes.emplace_back(kTargetMoves);
  if (steps.composed != 0) {
    notes.push_back(
        fmt::format("{}: the speedup is composed: steps from accuracy runs, step times from timing "
                    "runs",
                    steps.composed));
  }
  if (steps.shared != 0) {
    notes.push_back(fmt::format(
        "{}: step times of the accuracy runs, which may have shared the machine", steps.shared));
  }
  for (const auto& line : letters.lines()) notes.push_back(line);
  int64_t cut_off = 0, out_of_patience = 0;
  for (const auto& line : lines) {
    cut_off += line.efforts.cut_off;
    out_of_patience += line.efforts.out_of_patience;
  }
  if (cut_off > 0) {
    notes.push_back(fmt::format(
        "{} cut off by a limit of time or memory, or interrupted: not reached until the last "
        "evaluation, and censored there",
        cut_off == 1 ? "a run was" : fmt::format("{} runs were", cut_off)));
  }
  if (out_of_patience > 0) {
    notes.push_back(fmt::format(
        "{} ended by a patience before the target: censored there. Such runs are slower than "
        "others, so the median and the restricted mean are too short",
        out_of_patience == 1 ? "a run was" : fmt::format("{} runs were", out_of_patience)));
  }
  const auto mixed = [](const TargetRow& line) { return line.machines > 1; };
  if (std::any_of(lines.begin(), lines.end(), mixed)) {
    notes.emplace_back(
        "no restricted mean if the trainings of a setting are from several machines: they have no "
        "common time that all were watched for");
  }
  if (!lines.empty()) {
    notes.emplace_back(
        "reached: by the images that judge (held-out ones if there are any), with Wilson's 95 % "
        "interval; median: Kaplan and Meier's, from six runs on with an interval");
    notes.emplace_back(
        "restricted mean: the mean of min(time, the time that all rows were watched for); with "
        "restarts: all time over successes");
    notes.emplace_back(kNotIsolated);
  }
  const auto lacks = [](const TargetRow& line) { return line.speedup.n == 0 && line.pairs > 0; };
  if (std::any_of(lines.begin(), lines.end(), lacks)) notes.emplace_back(kWhyNoSpeedup);
  return notes;
}

// "5 rows: 3 reached their target in every run, 1 in some, 1 in none."; "" without rows.
std::string reached_sentence(const Lines& lines) {
  int64_t every = 0, some = 0;
  for (const auto& line : lines) {
    every += line.time.n > 0 && line.time.reached == line.time.n;
    some += line.time.reached > 0 && line.time.reached < line.time.n;
  }
  const auto all = static_cast<int64_t>(lines.size());
  if (all == 0) return "";
  return fmt::format("{} {}: {} reached the target in every run, {} in some, {} in none.", all,
                     all == 1 ? "row" : "rows", every, some, all - every - some);
}

// Time to a target, with the runs that never reach it counted as what they are
// (results/stats/time_to_target.h): one row for each row of the store. The speedup is (ratio of
// steps to target) x (ratio of step times); the second comes from timing runs where there are
// any.
Table report_tta(const Snapshot& snapshot, const ReportOptions& options) {
  const auto rows_there = rows_of(snapshot, options);
  const RowSet& set = *rows_there;
  const Lines lines = target_rows(set, options);
  const StepLetters steps(lines);
  // Neither throughput nor differences of accuracies stand here.
  const auto letters = letters_of(lines, {kShared, kUnpaired}, steps.next);
  const bool has_joules = std::any_of(lines.begin(), lines.end(), [](const TargetRow& line) {
    return !line.efforts.joules.empty();
  });
  Table table =
      table_of(options.experiment, target_columns(set, steps, letters, has_joules), lines);
  table.screen = {.keys = {"network", "dataset", "setting", "tuned_rate", "schedule", "target_pct"},
                  .results = {"method", "reached", "median_s", "steps_ratio", "speedup"},
                  .headline = reached_sentence(lines)};
  if (!lines.empty()) table.screen.next = picture_command("tta", options);
  table.notes = target_notes(lines, steps, letters, has_joules);
  if (const int64_t below = stopped_below(set, options.target); below > 0) {
    table.notes.push_back(
        fmt::format("left out: {} that stopped at a lower target: when those would have reached "
                    "this one that were about to is not known",
                    below == 1 ? "a run" : fmt::format("{} runs", below)));
  }
  return table;
}

REGISTER_REPORT("tta", report_tta)
    .at(2)
    .about("Time to a target, with the runs that never reach it")
    .made_of("accuracy runs (train, sweep)")
    .drawn_by("tta");

}  // namespace
}  // namespace approx
