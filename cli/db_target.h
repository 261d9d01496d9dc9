// `approxtrain db target`: stores targets that are derived from exact trainings.
#pragma once

#include "cli/command.h"

namespace approx {

// Adds the command to `db`.
void add_db_target(CLI::App& db, const GlobalOptions& options);

}  // namespace approx
