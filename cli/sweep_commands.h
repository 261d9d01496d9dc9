// The commands below `sweep`.
#pragma once

#include "cli/command.h"

namespace approx {

// sweep status, sweep stop.
void add_sweep_status(CLI::App& sweep, GlobalOptions& options);

}  // namespace approx
