// Flags that `sweep` and `train` share, besides the coordinator.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/sweep/sweep_options.h"

namespace approx {

// The group of these flags in --help.
inline constexpr const char* kHowToRun = "How to run";

// Adds the flags that set how runs are done: which runs again, time limits, and which files are
// kept.
void add_sweep_flags(CLI::App& app, SweepOptions& sweep);

// Adds the flags of commands that start several runs: how many at a time, and when to stop starting
// runs.
void add_jobs_flags(CLI::App& app, SweepOptions& sweep);

}  // namespace approx
