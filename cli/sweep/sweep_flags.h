// What `sweep` and `train` have in common beside the coordinator.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/sweep/sweep_options.h"

namespace approx {

// The group of help in which these flags stand.
inline constexpr const char* kHowToRun = "How to run";

// The flags that say how runs are done: which of them again, for how long, with what kept.
void add_sweep_flags(CLI::App& app, SweepOptions& sweep);

// The flags of commands that start several runs: how many at a time, and when to begin no more.
void add_jobs_flags(CLI::App& app, SweepOptions& sweep);

}  // namespace approx
