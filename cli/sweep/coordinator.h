// Runs the runs of an experiment, each in a process of its own, and records how each one ended,
// whatever ended it.
#pragma once

#include "cli/command.h"
#include "cli/sweep/sweep_options.h"
#include "core/experiment/experiment.h"

namespace approx {

// Does what is missing of `experiment` in the store `options.db`, and returns when all of it ended
// or SIGINT, SIGTERM or SIGHUP stopped it (once: workers are asked to stop, twice: they are
// killed), or SIGUSR1 (however often: they are asked to stop). Throws Error(kDatabase) when the
// store fails, Exit where it was stopped twice while another program had the store, after its
// workers have been stopped; what they had reported is in their run directories and is taken up by
// the next call.
SweepResult run_experiment(const Experiment& experiment, const GlobalOptions& options,
                           const SweepOptions& sweep);

}  // namespace approx
