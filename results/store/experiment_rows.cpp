#include "results/store/experiment_rows.h"

#include <optional>

#include "results/store/json_values.h"
#include "results/store/origin.h"

namespace approx {
namespace {

// Whether the store has the same text of that experiment.
bool same_text(SQLite::Database& db, const Experiment& experiment) {
  bool same = false;
  for_each_row(
      db, "SELECT text FROM experiment WHERE name = ?",
      [&](SQLite::Statement& row) { same = text_at(row, 0) == experiment.text; }, experiment.id);
  return same;
}

int64_t write_header(SQLite::Database& db, const Experiment& experiment,
                     const std::string& command_line) {
  std::optional<std::string> metric;
  std::optional<double> value;
  if (experiment.target) metric = experiment.target->metric, value = experiment.target->value;
  execute(db,
          "INSERT INTO experiment(name, title, source, text, command_line, target_metric, "
          "target_value, report, created_utc) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) "
          "ON CONFLICT(name) DO UPDATE SET title = excluded.title, source = excluded.source, "
          "text = excluded.text, command_line = excluded.command_line, "
          "target_metric = excluded.target_metric, target_value = excluded.target_value, "
          "report = excluded.report",
          experiment.id, experiment.title, experiment.source, experiment.text, command_line, metric,
          value, json_text(experiment.report), utc_now());
  int64_t id = 0;
  for_each_row(
      db, "SELECT experiment_id FROM experiment WHERE name = ?",
      [&](SQLite::Statement& row) { id = row.getColumn(0).getInt64(); }, experiment.id);
  return id;
}

void write_cells(SQLite::Database& db, int64_t id, const std::vector<PlannedRun>& runs) {
  SQLite::Statement add_cell(
      db,
      "INSERT INTO cell(run_key, purpose, method, schedule, network, dataset, seed, split, "
      "train_examples, recipe, batch_size, precision, threads, device, config, train_subset, "
      "stop_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(run_key) DO "
      "NOTHING");
  SQLite::Statement add_member(
      db,
      "INSERT INTO experiment_cell(experiment_id, cell_id, method_label, schedule_label, "
      "network_label, dataset, purpose, seed, excluded, position) "
      "VALUES(?1, CASE WHEN ?9 = '' THEN (SELECT cell_id FROM cell WHERE run_key = ?2) END, "
      "?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
      "ON CONFLICT(experiment_id, cell_id) DO UPDATE SET position = excluded.position, "
      "method_label = excluded.method_label, schedule_label = excluded.schedule_label, "
      "network_label = excluded.network_label");
  int64_t position = 0;
  for (const auto& run : runs) {
    const auto& config = run.config;
    const std::string purpose(name(config.purpose)), split(name(config.split));
    const std::string precision(name(config.precision)), device(name(config.device));
    if (run.excluded.empty()) {
      add_cell.reset();
      bind_all(add_cell, run.key, purpose, config.method, json_text(Json(config.schedule)),
               config.network, config.dataset, config.seed, split, config.train_examples,
               json_text(Json(config.recipe)), config.batch_size, precision, config.threads, device,
               json_text(Json(config)), std::string(name(config.train_subset)), config.stop_at);
      add_cell.exec();
    }
    add_member.reset();
    bind_all(add_member, id, run.key, run.method_label, run.schedule_label, run.network_label,
             config.dataset, purpose, config.seed, run.excluded, position++);
    add_member.exec();
  }
}

}  // namespace

int64_t write_experiment(SQLite::Database& db, const Experiment& experiment,
                         const std::string& command_line, bool retire) {
  // Cells without a run belong to the experiment as long as its file stays the same: a sweep
  // narrowed by flags asks for some of them, and another may be running the rest right now.
  const bool keep = !retire || same_text(db, experiment);
  const int64_t id = write_header(db, experiment, command_line);
  execute(db,
          "DELETE FROM experiment_cell WHERE experiment_id = ? AND (cell_id IS NULL OR (NOT ? AND "
          "NOT EXISTS (SELECT 1 FROM run WHERE run.cell_id = experiment_cell.cell_id)))",
          id, keep);
  write_cells(db, id, experiment.runs());
  execute(db,
          "DELETE FROM cell WHERE cell_id NOT IN (SELECT cell_id FROM run) AND cell_id NOT IN "
          "(SELECT cell_id FROM experiment_cell WHERE cell_id IS NOT NULL)");
  return id;
}

}  // namespace approx
