// What came of a sweep, as its user is told.
#pragma once

#include "cli/sweep/sweep_options.h"
#include "core/experiment/experiment.h"

namespace approx {

// Says it on stderr, and why runs were left out; returns the exit code.
int finish_sweep(const Experiment& experiment, const SweepResult& result);

}  // namespace approx
