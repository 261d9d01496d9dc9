#include "results/store/experiment_rows.h"

#include "results/store/json_values.h"
#include "results/store/origin.h"

namespace approx {
namespace {

constexpr const char* kAddCell =
    "INSERT INTO cell(run_key, purpose, method, schedule, network, dataset, seed, split, "
    "train_examples, recipe, batch_size, precision, threads, device, config, train_subset, "
    "stop_at) "
    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(run_key) DO NOTHING";

constexpr const char* kAddMember =
    "INSERT INTO experiment_cell(experiment_id, cell_id, method_label, schedule_label, "
    "network_label, dataset, purpose, seed, excluded, position) "
    "VALUES(?1, CASE WHEN ?9 = '' THEN (SELECT cell_id FROM cell WHERE run_key = ?2) END, "
    "?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
    "ON CONFLICT(experiment_id, cell_id) DO UPDATE SET position = excluded.position, "
    "method_label = excluded.method_label, schedule_label = excluded.schedule_label, "
    "network_label = excluded.network_label";

// Whether the store has the same text of that experiment.
bool same_text(SQLite::Database& db, const ExperimentRow& experiment) {
  bool same = false;
  for_each_row(
      db, "SELECT text FROM experiment WHERE name = ?",
      [&](SQLite::Statement& row) { same = text_at(row, 0) == experiment.text; }, experiment.name);
  return same;
}

// `created_utc` is when its text was recorded, so that of several stores the one with the latest is
// known.
int64_t write_header(SQLite::Database& db, const ExperimentRow& experiment) {
  execute(db,
          "INSERT INTO experiment(name, title, source, text, command_line, target_metric, "
          "target_value, report, created_utc) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) "
          "ON CONFLICT(name) DO UPDATE SET title = excluded.title, source = excluded.source, "
          "text = excluded.text, command_line = excluded.command_line, "
          "target_metric = excluded.target_metric, target_value = excluded.target_value, "
          "report = excluded.report, created_utc = "
          "CASE WHEN experiment.text = excluded.text THEN experiment.created_utc "
          "ELSE excluded.created_utc END",
          experiment.name, experiment.title, experiment.source, experiment.text,
          experiment.command_line, experiment.target_metric, experiment.target_value,
          experiment.report, experiment.utc);
  int64_t id = 0;
  for_each_row(
      db, "SELECT experiment_id FROM experiment WHERE name = ?",
      [&](SQLite::Statement& row) { id = row.getColumn(0).getInt64(); }, experiment.name);
  return id;
}

}  // namespace

ExperimentRow row_of(const Experiment& experiment, const std::string& command_line, bool retire) {
  ExperimentRow row{.name = experiment.id,
                    .title = experiment.title,
                    .source = experiment.source,
                    .text = experiment.text,
                    .command_line = command_line,
                    .report = json_text(experiment.report),
                    .utc = utc_now(),
                    .target_metric = std::nullopt,
                    .target_value = std::nullopt,
                    .retire = retire};
  if (experiment.target) {
    row.target_metric = experiment.target->metric, row.target_value = experiment.target->value;
  }
  return row;
}

void to_json(Json& json, const ExperimentRow& row) {
  json = {{"name", row.name},     {"title", row.title},  {"source", row.source},
          {"text", row.text},     {"utc", row.utc},      {"command_line", row.command_line},
          {"report", row.report}, {"retire", row.retire}};
  if (row.target_metric) json["target_metric"] = *row.target_metric;
  if (row.target_value) json["target_value"] = *row.target_value;
}

void from_json(const Json& json, ExperimentRow& row) {
  json.at("name").get_to(row.name);
  json.at("title").get_to(row.title);
  json.at("source").get_to(row.source);
  json.at("text").get_to(row.text);
  json.at("utc").get_to(row.utc);
  json.at("command_line").get_to(row.command_line);
  json.at("report").get_to(row.report);
  json.at("retire").get_to(row.retire);
  if (json.contains("target_metric")) row.target_metric = json["target_metric"].get<std::string>();
  if (json.contains("target_value")) row.target_value = json["target_value"].get<double>();
}

MemberRow row_of(const PlannedRun& run) {
  return {.run_key = run.excluded.empty() ? run.key : "",
          .dataset = run.config.dataset,
          .purpose = std::string(name(run.config.purpose)),
          .excluded = run.excluded,
          .labels = run.labels(),
          .seed = run.config.seed,
          .position = run.position};
}

void to_json(Json& json, const MemberRow& row) {
  json = {{"dataset", row.dataset},
          {"purpose", row.purpose},
          {"seed", row.seed},
          {"labels", {row.labels.method, row.labels.schedule, row.labels.network}}};
  if (row.excluded.empty()) {
    json["run_key"] = row.run_key;
  } else {
    json["excluded"] = row.excluded;
  }
  if (row.position) json["position"] = *row.position;
}

void from_json(const Json& json, MemberRow& row) {
  json.at("dataset").get_to(row.dataset);
  json.at("purpose").get_to(row.purpose);
  json.at("seed").get_to(row.seed);
  const Json& labels = json.at("labels");
  row.labels = {labels.at(0).get<std::string>(), labels.at(1).get<std::string>(),
                labels.at(2).get<std::string>()};
  row.run_key = json.value("run_key", std::string());
  row.excluded = json.value("excluded", std::string());
  if (json.contains("position")) row.position = json["position"].get<int64_t>();
}

ExperimentWriter::ExperimentWriter(SQLite::Database& db, const ExperimentRow& row)
    : db_(db), cell_(db, kAddCell), member_(db, kAddMember) {
  // Cells without a run belong to the experiment as long as its file stays the same: a sweep
  // narrowed by flags asks for some of them, and another may be running the rest right now.
  const bool keep = !row.retire || same_text(db, row);
  id_ = write_header(db, row);
  execute(db,
          "DELETE FROM experiment_cell WHERE experiment_id = ? AND (cell_id IS NULL OR (NOT ? AND "
          "NOT EXISTS (SELECT 1 FROM run WHERE run.cell_id = experiment_cell.cell_id)))",
          id_, keep);
}

bool ExperimentWriter::add_cell(const std::string& run_key, const RunConfig& config,
                                const std::string& text) {
  cell_.reset();
  bind_all(cell_, run_key, std::string(name(config.purpose)), config.method,
           json_text(Json(config.schedule)), config.network, config.dataset, config.seed,
           std::string(name(config.split)), config.train_examples, json_text(Json(config.recipe)),
           config.batch_size, std::string(name(config.precision)), config.threads,
           std::string(name(config.device)), text, std::string(name(config.train_subset)),
           config.stop_at);
  return cell_.exec() > 0;
}

void ExperimentWriter::add(const MemberRow& member) {
  member_.reset();
  bind_all(member_, id_, member.run_key, member.labels.method, member.labels.schedule,
           member.labels.network, member.dataset, member.purpose, member.seed, member.excluded,
           member.position.value_or(position_));
  member_.exec();
  ++position_;
}

int64_t ExperimentWriter::finish() {
  execute(db_,
          "DELETE FROM cell WHERE cell_id NOT IN (SELECT cell_id FROM run) AND cell_id NOT IN "
          "(SELECT cell_id FROM experiment_cell WHERE cell_id IS NOT NULL)");
  return id_;
}

}  // namespace approx
