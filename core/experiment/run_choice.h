// Chooses some of an experiment's runs by patterns for their names.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace approx {

// Extended regular expressions, as in `grep -E`.
struct RunPatterns {
  std::vector<std::string> only;  // a run must match one of them; empty: any run
  std::vector<std::string> skip;  // a run must match none of these
};

// For each run, the settings beside its axes in which runs of the experiment differ: "batch_size=64
// threads=2". "" if there are none.
std::vector<std::string> settings_apart(const std::vector<PlannedRun>& runs);

// The name of each run that patterns must match: "method=Top 2 schedule=Early network=resnet20
// dataset=cifar10 purpose=accuracy seed=3". It has the labels of the axes (a dense run has no
// schedule), followed by settings_apart().
std::vector<std::string> run_names(const std::vector<PlannedRun>& runs);

// Keeps only the trainings of an experiment that the patterns choose. Throws Error(kUsage) that
// names the flag, for an invalid regular expression, for a pattern that matches no run, and if no
// run is left.
void choose_runs(Experiment& experiment, const RunPatterns& patterns);

}  // namespace approx
