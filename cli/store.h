// The store of results as commands open it.
#pragma once

#include "cli/command.h"
#include "results/store/run_store.h"

namespace approx {

// The database for writing, made where it is missing; waits for its lock are told on stderr. Throws
// Error(kDatabase).
RunStore open_store(const GlobalOptions& options);

}  // namespace approx
