// Opens the store of results for a command.
#pragma once

#include "cli/command.h"
#include "results/store/run_store.h"

namespace approx {

// Opens the database for writing, and creates it if missing. Reports waits for its lock on stderr.
// Throws Error(kDatabase).
RunStore open_store(const GlobalOptions& options);

// Chooses the database of a command that only reads. If the default database is missing and the
// working directory has exactly one store, that store is used, and stderr says so. If it has
// several, stderr names all of them and none is used.
void read_store_here(GlobalOptions& options);

}  // namespace approx
