// An experiment on its way into the store.
#pragma once

#include <cstdint>
#include <string>

#include "core/experiment/experiment.h"
#include "results/store/database.h"

namespace approx {

// Writes it and its cells as RunStore::add_experiment says, inside the caller's transaction.
// `retire`: without cells that it no longer asks for. Returns the experiment's id.
int64_t write_experiment(SQLite::Database& db, const Experiment& experiment,
                         const std::string& command_line, bool retire);

}  // namespace approx
