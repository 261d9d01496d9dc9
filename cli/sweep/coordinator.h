// Runs the runs of an experiment, each in its own process, and records how each one ended, for any
// cause.
#pragma once

#include "cli/command.h"
#include "cli/sweep/sweep_options.h"
#include "core/experiment/experiment.h"

namespace approx {

// Does the missing runs of `experiment` in the store `options.db`. Returns when all have ended, or
// when a signal stopped it. The first SIGINT, SIGTERM or SIGHUP asks workers to stop, the second
// kills them. SIGUSR1 asks them to stop, however often it comes.
// Throws Error(kDatabase) when the store fails, and where check_is_local() does unless
// `sweep.network_db` is set. Throws Exit if it was stopped twice while another program had the
// store, after its workers were stopped. Their reports are in their run directories, and the next
// call takes them up.
SweepResult run_experiment(const Experiment& experiment, const GlobalOptions& options,
                           const SweepOptions& sweep);

}  // namespace approx
