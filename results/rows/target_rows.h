// Time to a target for each row of a store, for the reports on time to target and on profiles.
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

// The network, data set and setting of rows that compete with each other.
using Group = std::tuple<std::string, std::string, std::string>;

Group group_of(const Row& row);

struct TargetChoice {
  double share = 0;
  std::string origin;  // where the target comes from, for people
  // Exact trainings from which it was derived; none if it was given or an experiment says it.
  std::optional<int64_t> dense_runs = {};
  bool is_stored = false;  // derived before, and stored with its provenance
};

// The target as a percentage without rounding noise: 48.37, not 48.370000000000005.
double shown_percent(const TargetChoice& target);

// The effort of a row's runs to reach a target.
struct Efforts {
  std::vector<Attempt> seconds;
  // Nothing for a run that did not reach it.
  std::map<const Cell*, std::optional<TargetEffort>> of_cell;
  std::vector<double> joules;  // of runs that reached it and counted energy
  // The shortest training time in seconds of the runs that trained to their end; none where no run
  // did.
  std::optional<double> watched;
  int64_t cut_off = 0;  // runs that were cut off before they reached it: censored
  int64_t stopped = 0;  // runs that stopped as soon as they had reached it
  // Runs that their patience ended before they reached it: censored, too.
  int64_t out_of_patience = 0;
  // Positions of runs that diverged. They would never have reached the target, so each counts with
  // the whole budget and not only with its own length.
  std::vector<size_t> diverged;
};

// The runs that the ratio of step times comes from.
enum class StepTimes { kNone, kTimingRuns, kAccuracyRuns };

struct TargetRow {
  const Row* row = nullptr;
  Notes notes = {};  // of its row, and of its target
  TargetChoice target;
  Efforts efforts;
  TargetTime time;
  double budget = 0;  // in seconds, equal in all rows of a group
  // Number of machines on which the trainings of its group ran. Seconds of two machines are not
  // compared.
  int64_t machines = 1;
  // Against dense: ratios of steps to the target, of step times, and of both together. Steps are
  // compared only where both runs of every pair reached the target. A comparison of only the pairs
  // that did would favour a method that fails more often.
  Ratio steps, step_time, speedup;
  StepTimes step_times = StepTimes::kNone;
  int64_t pairs = 0, arrived = 0;  // pairs of seeds; pairs in which both runs reached the target
  // Whether both runs of every pair reached the target at the same evaluation. Equal steps are no
  // measurement then, since nothing is known between evaluations, and there is no speedup.
  bool same_evaluation = false;

  // is_isolated: whether the step times are from timing runs, not from trainings that may have
  // shared the machine. isolated_speedup: the speedup if they are.
  bool is_isolated() const { return step_times == StepTimes::kTimingRuns; }
  Ratio isolated_speedup() const { return is_isolated() ? speedup : Ratio(); }
};

// The speedup as text, "1.31× [1.20, 1.43]", or why there is none: "– (2/6 pairs arrived)", "–
// (same evaluation)".
std::string speedup_text(const TargetRow& line);

// The rows of a set that have a target and runs to judge by it, in their order.
std::vector<TargetRow> target_rows(const RowSet& set, const ReportOptions& options);

// The target row of `row`; nullptr where it has none.
const TargetRow* target_of(const std::vector<TargetRow>& rows, const Row& row);

// The note below a table in which a row has no speedup.
inline constexpr const char* kWhyNoSpeedup =
    "no speedup to the target if a run of some pair did not arrive: the others alone would flatter "
    "methods that fail more often. None either if both runs of every pair arrived at the same "
    "evaluation, since nothing is known between evaluations";

// The note below a table with a target that is derived and not stored.
inline constexpr const char* kTargetMoves =
    "a derived target moves with the dense runs until approxtrain db target stores it";

// The note below every table of these times.
inline constexpr const char* kNotIsolated =
    "seconds are those of the accuracy runs, which may have shared the machine; only the "
    "step-time ratios of timing runs are isolated";

}  // namespace approx
