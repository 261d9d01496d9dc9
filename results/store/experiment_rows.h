// An experiment on its way into the store.
#pragma once

#include <cstdint>
#include <string>

#include "core/experiment/experiment.h"
#include "results/store/sql.h"

namespace approx {

// What the store and its journal hold of an experiment besides its runs. `retire`: whether cells
// without a run that it no longer asks for are given up, where its text changed.
Json experiment_row(const Experiment& experiment, const std::string& command_line, bool retire);

// A run of an experiment. An excluded one has its reason and no key; "position" is that in a larger
// grid (PlannedRun::position).
Json member_row(const PlannedRun& run);

// Writes an experiment inside the caller's transaction, as RunStore::add_experiment says: first
// what is said of it, then its runs in their order, then finish().
class ExperimentWriter {
 public:
  ExperimentWriter(SQLite::Database& db, const Json& experiment);

  // Adds the cell of a run, whose configuration is `text` as JSON. Whether it is a new one.
  bool add_cell(const std::string& run_key, const RunConfig& config, const std::string& text);

  // The next of its runs; its cell is there already.
  void add(const Json& member);

  // Gives up the cells that nothing refers to any more. Returns the experiment's id.
  int64_t finish();

 private:
  SQLite::Database& db_;
  int64_t id_ = 0, position_ = 0;
};

}  // namespace approx
