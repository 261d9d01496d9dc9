// What of an experiment a sweep has to do, by what its store knows.
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

// "topk_position:k=1, Schedule 1, resnet20, cifar10, seed 3".
std::string describe(const PlannedRun& run);

// The runs that an experiment asks for, in its order: without the excluded ones, and of several
// with one key, which have other labels alone, the first.
std::vector<const PlannedRun*> distinct_runs(const Experiment& experiment);

struct WorkLeft {
  // With the number of attempts that the store had of each.
  std::vector<std::pair<const PlannedRun*, int64_t>> to_do;
  std::vector<const PlannedRun*> elsewhere;  // another process is running them
  std::vector<const PlannedRun*> done;       // have a result, which stays
  SweepResult before;                        // what there is of the others
};

WorkLeft work_left(const Experiment& experiment, const RunStore& store, const Rerun& rerun);

}  // namespace approx
