// Writes an experiment into the store.
#pragma once

#include <cstdint>
#include <string>

#include "core/experiment/experiment.h"
#include "results/store/sql.h"

namespace approx {

// The data of an experiment, besides its runs, in the store and its journal. `retire`: if the
// experiment's text changed, give up cells without a run that it no longer asks for.
Json experiment_row(const Experiment& experiment, const std::string& command_line, bool retire);

// A run of an experiment as a row. An excluded run has its reason and no key. "position" is that in
// a larger grid (PlannedRun::position).
Json member_row(const PlannedRun& run);

// Writes an experiment inside the caller's transaction, as RunStore::add_experiment says. Construct
// it with the experiment's data, then add its runs in order, then call finish().
class ExperimentWriter {
 public:
  ExperimentWriter(SQLite::Database& db, const Json& experiment);

  // Adds the cell of a run; `text` is its configuration as JSON. Returns whether the cell is new.
  bool add_cell(const std::string& run_key, const RunConfig& config, const std::string& text);

  // Adds the next run of the experiment; its cell must exist.
  void add(const Json& member);

  // Gives up the cells that no experiment refers to any more. Returns the experiment's id.
  int64_t finish();

 private:
  SQLite::Database& db_;
  int64_t id_ = 0, position_ = 0;
};

}  // namespace approx
