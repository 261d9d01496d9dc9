#include "results/store/ending.h"

#include "results/stats/stats.h"
#include "results/store/origin.h"
#include "results/store/run_folders.h"
#include "results/store/run_lock.h"

namespace approx {
namespace {

// What was known of a run when it began.
struct Begun {
  int64_t run_id = 0;
  std::string purpose;
  bool isolated = false;
  Json environment;
};

Begun begun(SQLite::Database& db, const std::string& uid) {
  std::optional<Begun> found;
  for_each_row(
      db,
      "SELECT r.run_id, c.purpose, r.isolated, r.environment FROM run r JOIN cell c USING(cell_id) "
      "WHERE r.uid = ? AND r.uid <> '' AND r.state = 'running'",
      [&](SQLite::Statement& row) {
        found = Begun{.run_id = row.getColumn(0).getInt64(),
                      .purpose = text_at(row, 1),
                      .isolated = row.getColumn(2).getInt64() != 0,
                      .environment = Json::parse(text_at(row, 3))};
      },
      uid);
  if (!found) {
    throw Error(ErrorKind::kInternal, fmt::format("run {} is not running, it cannot end", uid));
  }
  return std::move(*found);
}

// A worker says more of itself than was known when its run began.
void update_start(SQLite::Database& db, const Json& start, Begun& run) {
  run.environment.update(start);
  run.isolated = environment_flag(run.environment, "isolated", run.isolated);
  execute(db,
          "UPDATE run SET environment = ?, isolated = ?, host_id = ?, build_id = ?, "
          "dataset_id = ? WHERE run_id = ?",
          json_text(run.environment), run.isolated, host_id(db, run.environment),
          build_id(db, run.environment), dataset_id(db, run.environment), run.run_id);
}

void insert_details(SQLite::Database& db, int64_t run_id, const Outcome& outcome) {
  for (const auto& metric : outcome.metrics) {
    execute(db,
            "INSERT OR REPLACE INTO metric(run_id, name, split, step, epoch, train_ns, value, "
            "special) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            run_id, metric.name, metric.split, metric.step, metric.epoch, metric.train_ns,
            metric.number.value, metric.number.special);
  }
  for (const auto& layer : outcome.layers) {
    execute(db,
            "INSERT OR REPLACE INTO layer_metric(run_id, layer, product, method, calls, "
            "exact_calls, macs_dense, macs_done, density) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            run_id, layer.layer, std::string(name(layer.product)), layer.method, layer.calls,
            layer.exact_calls, layer.macs_dense, layer.macs_done, layer.density);
  }
  for (const auto& variant : outcome.variants) {
    execute(db,
            "INSERT OR REPLACE INTO layer_variant(run_id, layer, product, plan, variant, calls) "
            "VALUES(?, ?, ?, ?, ?, ?)",
            run_id, variant.layer, std::string(name(variant.product)), variant.plan,
            variant.variant, variant.calls);
  }
  for (const auto& traffic : outcome.traffic) {
    execute(db,
            "INSERT OR REPLACE INTO layer_traffic(run_id, layer, calls, bytes, bytes_dense) "
            "VALUES(?, ?, ?, ?, ?)",
            run_id, traffic.layer, traffic.calls, traffic.bytes, traffic.bytes_dense);
  }
  for (const auto& block : outcome.blocks) {
    execute(db,
            "INSERT OR REPLACE INTO timing_block(run_id, pair, arm, block_order, steps, ns, "
            "core_share, clock_mhz, repeats) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            run_id, block.pair, block.arm, block.order, block.steps, block.ns, block.core_share,
            block.clock_mhz, block.repeats);
  }
}

}  // namespace

int64_t insert_run(SQLite::Database& db, const RunBegin& run) {
  const int64_t inserted = execute(
      db,
      "INSERT INTO run(cell_id, attempt, host_id, build_id, dataset_id, state, isolated, "
      "run_directory, started_utc, environment, uid) "
      "SELECT cell_id, 1 + (SELECT count(*) FROM run r WHERE r.cell_id = c.cell_id), ?2, ?3, ?4, "
      "'running', ?5, ?6, ?7, ?8, ?9 FROM cell c WHERE run_key = ?1",
      run.run_key, host_id(db, run.environment), build_id(db, run.environment),
      dataset_id(db, run.environment), run.isolated, run.directory, run.utc,
      environment_column(run.environment), run.uid);
  if (inserted == 0) {
    throw Error(ErrorKind::kInternal, fmt::format("no cell has the key {}", run.run_key));
  }
  return db.getLastInsertRowid();
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
  Begun run = begun(db, ending.uid);
  if (outcome.start) update_start(db, *outcome.start, run);
  insert_details(db, run.run_id, outcome);

  const Json final = outcome.final.value_or(Json::object());
  const auto total = [&final](const char* key) { return integer_or_none(final, key); };
  std::optional<double> median, q1, q3;
  std::optional<Blob> step_ns;
  if (!outcome.step_ns.empty()) {
    const auto quarters = quartiles({outcome.step_ns.begin(), outcome.step_ns.end()});
    median = quarters.median, q1 = quarters.q1, q3 = quarters.q3;
    step_ns = to_blob(outcome.step_ns);
  }
  const bool timing_valid = run.purpose == name(Purpose::kTiming) &&
                            end.state == RunState::kFinished && run.isolated && end.taint.empty();
  const auto diverged_layer = text_or(final, "diverged_layer", "");
  execute(db,
          "UPDATE run SET state = ?, timing_valid = ?, taint = ?, ended_utc = ?, steps = ?, "
          "warmup_steps = ?, train_ns = ?, eval_ns = ?, wall_ns = ?, warmup_ns = ?, "
          "step_ns_median = ?, step_ns_q1 = ?, step_ns_q3 = ?, step_ns = ?, peak_rss_bytes = ?, "
          "diverged_step = ?, diverged_layer = ?, exit_code = ?, signal = ?, error = ? "
          "WHERE run_id = ?",
          std::string(name(end.state)), timing_valid, json_text(Json(end.taint)), ending.utc,
          total("steps"), total("warmup_steps"), total("train_ns"), total("eval_ns"),
          total("wall_ns"), total("warmup_ns"), median, q1, q3, step_ns, total("peak_rss_bytes"),
          total("diverged_step"),
          diverged_layer.empty() ? std::nullopt : std::optional(diverged_layer), end.exit_code,
          end.signal, end.error, run.run_id);
}

void remove_run(SQLite::Database& db, const std::string& uid) {
  execute(db, "DELETE FROM run WHERE uid = ? AND uid <> '' AND state = 'running'", uid);
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
