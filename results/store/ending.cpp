#include "results/store/ending.h"

#include "results/stats/stats.h"
#include "results/store/json_values.h"
#include "results/store/origin.h"
#include "results/store/run_folders.h"
#include "results/store/run_lock.h"

namespace approx {

int64_t insert_run(SQLite::Database& db, const Json& run) {
  const auto key = run.at("run_key").get<std::string>();
  const int64_t cell = first_integer(db, "SELECT cell_id FROM cell WHERE run_key = ?", key);
  if (cell == 0) throw Error(ErrorKind::kInternal, fmt::format("no cell has the key {}", key));
  Json row = origin_columns(db, run.at("environment"));
  row.update(
      {{"cell_id", cell},
       {"attempt", 1 + first_integer(db, "SELECT count(*) FROM run WHERE cell_id = ?", cell)},
       {"dataset_id", dataset_id(db, run.at("environment"))},
       {"state", RunState::kRunning},
       {"isolated", run.at("isolated")},
       {"run_directory", run.at("directory")},
       {"started_utc", run.at("utc")},
       {"uid", run.at("uid")}});
  insert_row(db, "INSERT INTO run", row);
  return db.getLastInsertRowid();
}

void to_json(Json& json, const RunEnding& ending) {
  const RunEnd& end = ending.end;
  json = {
      {"uid", ending.uid}, {"utc", ending.utc}, {"state", end.state}, {"events", ending.events}};
  if (end.exit_code) json["exit_code"] = *end.exit_code;
  if (end.signal) json["signal"] = *end.signal;
  if (!end.error.empty()) json["error"] = end.error;
  if (!end.taint.empty()) json["taint"] = end.taint;
}

void from_json(const Json& json, RunEnding& ending) {
  json.at("uid").get_to(ending.uid);
  json.at("utc").get_to(ending.utc);
  json.at("events").get_to(ending.events);
  ending.end = {.state = stored_run_state(json.at("state").get<std::string>()),
                .error = json.value("error", std::string()),
                .taint = json.value("taint", std::vector<std::string>())};
  if (json.contains("exit_code")) ending.end.exit_code = json["exit_code"].get<int>();
  if (json.contains("signal")) ending.end.signal = json["signal"].get<int>();
}

RunEnd settle(RunEnd end, const Outcome& outcome) {
  if (end.state == RunState::kFinished) {
    const auto state = outcome.final ? find_named<RunState>(text_or(*outcome.final, "state", ""))
                                     : std::optional<RunState>();
    if (state && (is_result(*state) || state == RunState::kInterrupted)) {
      end.state = *state;
    } else {
      end.state = RunState::kFailed;
      if (end.error.empty()) end.error = "it ended without a final event";
    }
  }
  if (end.error.empty() && outcome.error) end.error = text_or(*outcome.error, "message", "");
  if (outcome.malformed > 0) {
    end.error += fmt::format("{}{} malformed events were left out", end.error.empty() ? "" : "; ",
                             outcome.malformed);
  }
  end.taint.insert(end.taint.begin(), outcome.taint.begin(), outcome.taint.end());
  return end;
}

void write_end(SQLite::Database& db, const Outcome& outcome, const RunEnding& ending) {
  const RunEnd& end = ending.end;
  const Json run = first_row(
      db,
      "SELECT r.run_id, c.purpose, r.isolated, r.environment FROM run r JOIN cell c USING(cell_id) "
      "WHERE r.uid = ? AND r.uid <> '' AND r.state = 'running'",
      ending.uid);
  if (run.is_null()) {
    throw Error(ErrorKind::kInternal,
                fmt::format("run {} is not running, it cannot end", ending.uid));
  }
  const auto run_id = run["run_id"].get<int64_t>();
  bool isolated = run["isolated"] != 0;
  Json row = {{"state", end.state},
              {"taint", end.taint},
              {"ended_utc", ending.utc},
              {"exit_code", or_null(end.exit_code)},
              {"signal", or_null(end.signal)},
              {"error", end.error}};
  if (outcome.start) {  // a worker says more of itself than was known when its run began
    Json environment = Json::parse(run["environment"].get<std::string>());
    environment.update(*outcome.start);
    isolated = environment_flag(environment, "isolated", isolated);
    row.update(origin_columns(db, environment));
    row.update({{"isolated", isolated}, {"dataset_id", dataset_id(db, environment)}});
  }
  for (auto [table, detail] : outcome.details) {
    detail["run_id"] = run_id;
    insert_row(db, fmt::format("INSERT OR REPLACE INTO {}", table), detail);
  }
  row["timing_valid"] = run["purpose"] == name(Purpose::kTiming) &&
                        end.state == RunState::kFinished && isolated && end.taint.empty();
  const Json final = outcome.final.value_or(Json::object());
  for (const char* total : {"steps", "warmup_steps", "train_ns", "eval_ns", "wall_ns", "warmup_ns",
                            "start_ns", "aside_ns", "peak_rss_bytes", "diverged_step"}) {
    row[total] = or_null(integer_or_none(final, total));
  }
  const auto ended_by = find_named<EarlyEnd>(text_or(final, "ended_by", ""));
  if (ended_by && end.state == RunState::kFinished) row["ended_by"] = *ended_by;
  const auto diverged_layer = text_or(final, "diverged_layer", "");
  if (!diverged_layer.empty()) row["diverged_layer"] = diverged_layer;
  if (!outcome.step_ns.empty()) {
    const auto quarters = quartiles({outcome.step_ns.begin(), outcome.step_ns.end()});
    row["step_ns_median"] = quarters.median;
    row["step_ns_q1"] = quarters.q1, row["step_ns_q3"] = quarters.q3;
    row["step_ns"] = to_blob(outcome.step_ns);
  }
  update_row(db, "run", run_id, row);
}

bool gone(const RunningRow& row) {
  return !RunLock::held(row.run_directory, RunLock::kWorker) &&
         !RunLock::held(row.run_directory, RunLock::kClaim);
}

RunEnding bury(SQLite::Database& db, const RunningRow& row, const Outcome& outcome) {
  RunEnd end;
  if (!outcome.final && outcome.error) {
    // As its coordinator would have recorded it (cli/sweep/observed.cpp).
    const auto said = find_named<RunState>(text_or(*outcome.error, "state", ""));
    const bool known = said == RunState::kOom || said == RunState::kLost;
    end.state = known ? *said : RunState::kFailed;
  } else if (!outcome.final) {
    end.state = RunState::kLost;
    end.error = "its process ended without a trace";
  }
  // It may have been dead for days.
  const auto written = written_ns(row.run_directory + "/" + kEventsFile);
  RunEnding ending{.uid = row.uid,
                   .utc = written ? utc_of(*written) : utc_now(),
                   .end = settle(end, outcome),
                   .events = outcome.taken};
  write_end(db, outcome, ending);
  return ending;
}

void expect_no_sweep(SQLite::Database& db, const std::string& path) {
  const bool running =
      db.execAndGet("SELECT count(*) FROM run WHERE state = 'running'").getInt64() > 0;
  if (running || sweep_at_work(path)) {
    throw database_error("{}: a sweep is at work on it; stop it (approxtrain sweep stop) first",
                         path);
  }
}

}  // namespace approx
