// Which of an experiment's runs are meant, by patterns for what each run is called.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace approx {

// Extended regular expressions, as of `grep -E`.
struct RunPatterns {
  std::vector<std::string> only;  // a run must match one of them, where there are any
  std::vector<std::string> skip;  // and none of these
};

// For each run the settings beside its axes in which runs of the experiment differ,
// "batch_size=64 threads=2"; "" where there are none.
std::vector<std::string> settings_apart(const std::vector<PlannedRun>& runs);

// What patterns are held against, of each run: "method=Top 2 schedule=Early network=resnet20
// dataset=cifar10 purpose=accuracy seed=3" with the labels of its axes (a dense run has no
// schedule), and settings_apart() behind it.
std::vector<std::string> run_names(const std::vector<PlannedRun>& runs);

// Leaves of an experiment's trainings those that the patterns choose. Throws Error(kUsage) that
// names the flag for what is no regular expression, for a pattern that matches no run, and where
// none is left.
void choose_runs(Experiment& experiment, const RunPatterns& patterns);

}  // namespace approx
