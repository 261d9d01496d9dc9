// What `sweep` and `train` have in common beside the coordinator.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/sweep/coordinator.h"

namespace approx {

// The group of help in which these flags stand.
inline constexpr const char* kHowToRun = "How to run";

// --rerun, --timeout, --stall-timeout, --grace, --checkpoint-every, --record, --record-every,
// --launcher, --oversubscribe, --rank-timeout.
void add_sweep_flags(CLI::App& app, SweepOptions& sweep);

// --jobs, --no-pin, --fail-fast, --max-failures: of several runs.
void add_jobs_flags(CLI::App& app, SweepOptions& sweep);

// Says on stderr what came of it, and why runs were left out; returns the exit code.
int finish_sweep(const Experiment& experiment, const SweepResult& result);

}  // namespace approx
