// The runs of an experiment that a sweep has to do, according to the store.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/sweep/rerun.h"
#include "cli/sweep/sweep_options.h"
#include "core/experiment/experiment.h"
#include "results/store/run_store.h"

namespace approx {

// A run as text: "topk_position:k=1, Schedule 1, resnet20, cifar10, seed 3".
std::string describe(const PlannedRun& run);

// The runs of an experiment, in its order, without excluded ones. Runs with one key differ only in
// their labels; the first of them is taken.
std::vector<const PlannedRun*> distinct_runs(const Experiment& experiment);

struct WorkLeft {
  // Each with the number of attempts in the store.
  std::vector<std::pair<const PlannedRun*, int64_t>> to_do;
  std::vector<const PlannedRun*> elsewhere;  // another process is running them
  std::vector<const PlannedRun*> done;       // have a result, which stays
  SweepResult before;                        // counts of the other runs
};

// Counts a run that ended in this state before and is not repeated.
void count_before(RunState state, SweepResult& result);

WorkLeft work_left(const Experiment& experiment, const RunStore& store, const Rerun& rerun);

}  // namespace approx
