// Checks a sweep for errors before any of its runs begins.
#pragma once

#include <string>
#include <vector>

#include "cli/sweep/sweep_options.h"
#include "core/experiment/experiment.h"

namespace approx {

// Throws Error(kDatabase) where the database or the folder of its runs is on a network file system.
// There a lock may not reach other machines, and two sweeps could do the same run.
void check_is_local(const std::string& db);

// Makes the folder for recordings, where one is set. Throws Error(kUsage) where there is nothing to
// record.
void check_recording(const SweepOptions& sweep, const Experiment& experiment);

// `ranks` with the launcher to use, if one of the runs to do has several ranks. Throws
// Error(kUsage) where there is no launcher. Throws it too where a run has more ranks, or a timing
// more threads, than this machine or allocation has cores for.
RankOptions checked_ranks(const RankOptions& ranks, const std::vector<const PlannedRun*>& to_do);

// The recipe settings of accuracy runs that lie beyond the end of the training (beyond_the_end),
// each line once.
std::vector<std::string> unreached_settings(const std::vector<const PlannedRun*>& to_do);

}  // namespace approx
