// An experiment on its way into the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/experiment/experiment.h"
#include "results/store/database.h"

namespace approx {

// What the store and its journal hold of an experiment besides its runs.
struct ExperimentRow {
  std::string name, title, source, text, command_line, report, utc;  // report: JSON
  std::optional<std::string> target_metric;
  std::optional<double> target_value;
  // Whether cells without a run that it no longer asks for are given up, where its text changed.
  bool retire = false;
};

ExperimentRow row_of(const Experiment& experiment, const std::string& command_line, bool retire);
void to_json(Json& json, const ExperimentRow& row);
void from_json(const Json& json, ExperimentRow& row);

// A run of an experiment. An excluded one has its reason and no key.
struct MemberRow {
  std::string run_key, dataset, purpose, excluded;
  LabelKey labels;
  int64_t seed = 0;
  std::optional<int64_t> position;  // where it is a part of a larger grid (PlannedRun::position)
};

MemberRow row_of(const PlannedRun& run);
void to_json(Json& json, const MemberRow& row);
void from_json(const Json& json, MemberRow& row);

// Writes an experiment inside the caller's transaction, as RunStore::add_experiment says: first
// what is said of it, then its runs in their order, then finish().
class ExperimentWriter {
 public:
  ExperimentWriter(SQLite::Database& db, const ExperimentRow& row);

  // Adds the cell of a run, whose configuration is `text` as JSON. Whether it is a new one.
  bool add_cell(const std::string& run_key, const RunConfig& config, const std::string& text);

  // The next of its runs; its cell is there already.
  void add(const MemberRow& member);

  // Gives up the cells that nothing refers to any more. Returns the experiment's id.
  int64_t finish();

 private:
  SQLite::Database& db_;
  int64_t id_ = 0, position_ = 0;
  SQLite::Statement cell_, member_;
};

}  // namespace approx
