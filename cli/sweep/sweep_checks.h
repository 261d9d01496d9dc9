// What is wrong with a sweep is said before any of its runs is begun.
#pragma once

#include <string>
#include <vector>

#include "cli/sweep/sweep_options.h"
#include "core/experiment/experiment.h"

namespace approx {

// Makes the folder to record into, where there is one. Throws Error(kUsage) where there is nothing
// that could be recorded.
void check_recording(const SweepOptions& sweep, const Experiment& experiment);

// `ranks` with the launcher that is used, where a run of those to be done has several. Throws
// Error(kUsage) where there is none, or a run has more ranks, or a timing more threads, than this
// machine or allocation has cores for.
RankOptions checked_ranks(const RankOptions& ranks, const std::vector<const PlannedRun*>& to_do);

// What the recipes of accuracy runs have behind the end of the training (beyond_the_end), each line
// once.
std::vector<std::string> unreached_settings(const std::vector<const PlannedRun*>& to_do);

}  // namespace approx
