// Time to a target for each row of a store: what the reports on it and on profiles begin with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "results/rows/options.h"
#include "results/rows/rows.h"
#include "results/stats/stats.h"
#include "results/stats/time_to_target.h"

namespace approx {

// Rows that compete with each other: network, data set, setting.
using Group = std::tuple<std::string, std::string, std::string>;

Group group_of(const Row& row);

struct TargetChoice {
  double share = 0;
  std::string origin;  // why this one, for people
};

// As a percentage without the noise of its last bits: not 48.370000000000005.
double shown_percent(const TargetChoice& target);

// What the runs of a row took to reach a target.
struct Efforts {
  std::vector<Attempt> seconds;
  std::map<const Cell*, std::optional<TargetEffort>> of_cell;  // nothing: it did not reach it
  std::vector<double> joules;  // of the runs that reached it, where they were counted
  // For how long every run that trained to its end was trained, s; none where none did.
  std::optional<double> watched;
  int64_t cut_off = 0;  // of those that did not reach it: from outside, so they are censored
  int64_t stopped = 0;  // of those that reached it: as soon as they had
  // Positions of runs that diverged: they would never have arrived, so they count for the whole
  // budget and not only for as long as they lasted.
  std::vector<size_t> diverged;
};

// Where the ratio of step times comes from.
enum class StepTimes { kNone, kTimingRuns, kAccuracyRuns };

struct TargetRow {
  const Row* row = nullptr;
  TargetChoice target;
  Efforts efforts;
  TargetTime time;
  double budget = 0;     // s, the same in all rows of a group
  int64_t machines = 1;  // on which the trainings of its group ran; no seconds of two are compared
  // Against dense: of steps to the target, of step times, and of both together. Steps are compared
  // where both runs of every pair arrived: those that did alone would flatter who fails more often.
  Ratio steps, step_time, speedup;
  StepTimes step_times = StepTimes::kNone;
  int64_t pairs = 0, arrived = 0;  // of seeds; those of which both runs arrived
  // Both runs of every pair arrived at the same evaluation. Between two of them nobody looks, so
  // that equal steps are no measurement, and there is no speedup.
  bool same_evaluation = false;

  // Whether its step times are of timing runs, and not of trainings that may have shared the
  // machine; and its speedup where they are.
  bool is_isolated() const { return step_times == StepTimes::kTimingRuns; }
  Ratio isolated_speedup() const { return is_isolated() ? speedup : Ratio(); }
};

// "1.31× [1.20, 1.43]"; or why there is none: "– (2/6 pairs arrived)", "– (same evaluation)".
std::string speedup_text(const TargetRow& line);

// Those rows of a set that have a target and runs to judge by it, in their order.
std::vector<TargetRow> target_rows(const RowSet& set, const ReportOptions& options);

// That of a row; nullptr where it has none.
const TargetRow* target_of(const std::vector<TargetRow>& rows, const Row& row);

// What is said below a table where a row has none.
inline constexpr const char* kWhyNoSpeedup =
    "no speedup to the target where a run of some pair did not arrive, since those that did alone "
    "flatter who fails more often, nor where both runs of every pair arrived at the same "
    "evaluation, between which nobody looks";

// What must be said below every table of these times.
inline constexpr const char* kNotIsolated =
    "seconds are those of the accuracy runs, which may have shared the machine; only the "
    "step-time ratios of timing runs are isolated";

}  // namespace approx
