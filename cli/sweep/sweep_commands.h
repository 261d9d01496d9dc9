// The commands below `sweep`.
#pragma once

#include "cli/command.h"

namespace approx {

// sweep status, sweep stop.
void add_sweep_status(CLI::App& sweep, GlobalOptions& options);

// sweep task FOLDER N: does the runs of a task of `sweep --slurm` in its own database, and what an
// earlier turn of it did not come to (cli/sweep/sweep_task.cpp).
void add_sweep_task(CLI::App& sweep, GlobalOptions& options);

}  // namespace approx
