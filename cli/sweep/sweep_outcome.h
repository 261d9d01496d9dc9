// Reports the outcome of a sweep to its user.
#pragma once

#include "cli/sweep/sweep_options.h"
#include "core/experiment/experiment.h"

namespace approx {

// Prints the outcome on stderr, with the reasons why runs were left out. Returns the exit code.
int finish_sweep(const Experiment& experiment, const SweepResult& result);

}  // namespace approx
