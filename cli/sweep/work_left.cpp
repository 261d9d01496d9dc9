#include "cli/sweep/work_left.h"

#include <algorithm>
#include <set>
#include <string>

#include "cli/environment.h"

namespace approx {

std::string describe(const PlannedRun& run) {
  return run_text(run.labels(), run.config.dataset, run.config.seed);
}

std::vector<const PlannedRun*> distinct_runs(const Experiment& experiment) {
  std::vector<const PlannedRun*> runs;
  std::set<std::string> keys;
  for (const auto& run : experiment.runs()) {
    if (run.excluded.empty() && keys.insert(run.key).second) runs.push_back(&run);
  }
  return runs;
}

void count_before(RunState state, SweepResult& result) {
  ++(is_result(state)              ? result.done_before
     : state == RunState::kTimeout ? result.cut_off_before
                                   : result.failed_before);
}

WorkLeft work_left(const Experiment& experiment, const RunStore& store, const Rerun& rerun) {
  WorkLeft left;
  const auto commit = program_commit();
  const auto& runs = experiment.runs();
  left.before.excluded =
      std::ranges::count_if(runs, [](const PlannedRun& run) { return !run.excluded.empty(); });
  for (const auto* run : distinct_runs(experiment)) {
    const CellStatus status = store.status(run->key);
    if (status.state == RunState::kRunning) {
      left.elsewhere.push_back(run);
    } else if (needs_run(status, rerun, commit)) {
      left.to_do.emplace_back(run, status.attempts);
    } else {
      count_before(*status.state, left.before);
      left.before.tainted += status.tainted;
      if (is_result(*status.state)) left.done.push_back(run);
    }
  }
  return left;
}

}  // namespace approx
