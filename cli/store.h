// The store of results as commands open it.
#pragma once

#include "cli/command.h"
#include "results/store/run_store.h"

namespace approx {

// The database for writing, made where it is missing; waits for its lock are told on stderr. Throws
// Error(kDatabase).
RunStore open_store(const GlobalOptions& options);

// For a command that only reads: where the default database is missing, takes the one store of the
// working directory in its place, and says so on stderr. Of several it names all and takes none.
void read_store_here(GlobalOptions& options);

}  // namespace approx
