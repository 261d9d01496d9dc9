// The subcommands of `sweep`.
#pragma once

#include "cli/command.h"

namespace approx {

// Adds `sweep status` and `sweep stop`.
void add_sweep_status(CLI::App& sweep, GlobalOptions& options);

// Adds `sweep task FOLDER N`. It does the runs of a task of `sweep --slurm` in the task's own
// database, including runs left from an earlier turn (cli/sweep/sweep_task.cpp).
void add_sweep_task(CLI::App& sweep, GlobalOptions& options);

}  // namespace approx
