#include "results/store/experiment_rows.h"

#include "results/store/origin.h"

namespace approx {
namespace {

// "ON CONFLICT(key) DO UPDATE SET ...": a row of that key gets these values.
std::string replacing(const char* key, const std::vector<std::string>& columns) {
  std::string sql = fmt::format("ON CONFLICT({}) DO UPDATE SET ", key);
  for (const auto& column : columns) sql += fmt::format("{0} = excluded.{0}, ", column);
  return sql;
}

// `created_utc` is when its text was recorded, so that of several stores the one with the latest is
// known.
int64_t write_header(SQLite::Database& db, const Json& experiment) {
  Json row = {{"created_utc", experiment.at("utc")}};
  for (const char* column : {"name", "title", "source", "text", "command_line", "report"}) {
    row[column] = experiment.at(column);
  }
  for (const char* column : {"target_metric", "target_value"}) {
    row[column] = experiment.value(column, Json());
  }
  insert_row(db, "INSERT INTO experiment", row,
             replacing("name", {"title", "source", "text", "command_line", "report",
                                "target_metric", "target_value"}) +
                 "created_utc = iif(text = excluded.text, created_utc, excluded.created_utc)");
  return first_integer(db, "SELECT experiment_id FROM experiment WHERE name = ?", row["name"]);
}

}  // namespace

Json experiment_row(const Experiment& experiment, const std::string& command_line, bool retire) {
  Json row = {{"name", experiment.id},
              {"title", experiment.title},
              {"source", experiment.source},
              {"text", experiment.text},
              {"utc", utc_now()},
              {"command_line", command_line},
              {"retire", retire},
              {"report", json_text(experiment.report)}};
  if (experiment.target) {
    row["target_metric"] = experiment.target->metric;
    row["target_value"] = experiment.target->value;
  }
  return row;
}

Json member_row(const PlannedRun& run) {
  Json row = {{"dataset", run.config.dataset},
              {"purpose", run.config.purpose},
              {"seed", run.config.seed},
              {"labels", {run.method_label, run.schedule_label, run.network_label}}};
  const bool excluded = !run.excluded.empty();
  row[excluded ? "excluded" : "run_key"] = excluded ? run.excluded : run.key;
  if (run.position) row["position"] = *run.position;
  return row;
}

ExperimentWriter::ExperimentWriter(SQLite::Database& db, const Json& experiment) : db_(db) {
  // Cells without a run belong to the experiment as long as its file stays the same: a sweep
  // narrowed by flags asks for some of them, and another may be running the rest right now.
  const bool keep = !experiment.at("retire").get<bool>() ||
                    has_row(db, "SELECT 1 FROM experiment WHERE name = ? AND text = ?",
                            experiment.at("name"), experiment.at("text"));
  id_ = write_header(db, experiment);
  execute(db,
          "DELETE FROM experiment_cell WHERE experiment_id = ? AND (cell_id IS NULL OR (NOT ? AND "
          "NOT EXISTS (SELECT 1 FROM run WHERE run.cell_id = experiment_cell.cell_id)))",
          id_, keep);
}

bool ExperimentWriter::add_cell(const std::string& run_key, const RunConfig& config,
                                const std::string& text) {
  Json row = {{"run_key", run_key},
              {"config", text},
              {"purpose", config.purpose},
              {"schedule", config.schedule},
              {"recipe", config.recipe}};
  const Json settings = scalar_settings(config);
  for (const char* column :
       {"method", "network", "dataset", "seed", "split", "train_examples", "train_subset",
        "batch_size", "precision", "threads", "device", "stop_at", "patience"}) {
    row[column] = settings.at(column);
  }
  row["method"] = arm_text(config.method, config.selection);  // "dense" is exact training alone
  return insert_row(db_, "INSERT INTO cell", row, "ON CONFLICT(run_key) DO NOTHING") > 0;
}

void ExperimentWriter::add(const Json& member) {
  const Json &labels = member.at("labels"), excluded = member.value("excluded", Json(""));
  Json cell;
  if (excluded == "") {
    cell = first_integer(db_, "SELECT cell_id FROM cell WHERE run_key = ?", member.at("run_key"));
  }
  const Json row = {{"experiment_id", id_},
                    {"cell_id", cell},
                    {"method_label", labels.at(0)},
                    {"schedule_label", labels.at(1)},
                    {"network_label", labels.at(2)},
                    {"dataset", member.at("dataset")},
                    {"purpose", member.at("purpose")},
                    {"seed", member.at("seed")},
                    {"excluded", excluded},
                    {"position", member.value("position", Json(position_))}};
  insert_row(
      db_, "INSERT INTO experiment_cell", row,
      replacing("experiment_id, cell_id", {"method_label", "schedule_label", "network_label"}) +
          "position = excluded.position");
  ++position_;
}

int64_t ExperimentWriter::finish() {
  execute(db_,
          "DELETE FROM cell WHERE cell_id NOT IN (SELECT cell_id FROM run) AND cell_id NOT IN "
          "(SELECT cell_id FROM experiment_cell WHERE cell_id IS NOT NULL)");
  return id_;
}

}  // namespace approx
