#include "results/store/run_store.h"

#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/numbers.h"
#include "results/stats/stats.h"
#include "results/store/run_lock.h"

namespace approx {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// What a worker sent may not be UTF-8 throughout.
std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_or(const Json& json, const char* key, const std::string& fallback) {
  const auto it = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && it != json.end() && it->is_string() ? it->get<std::string>()
                                                                 : fallback;
}

std::optional<int64_t> integer_or_none(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || !it->is_number()) return std::nullopt;
  return it->get<int64_t>();
}

// A key of the environment: of the engine's part, or of the whole.
Json environment_entry(const Json& environment, const char* key) {
  if (!environment.is_object()) return nullptr;
  for (const char* part : {"engine", "environment"}) {
    const auto it = environment.find(part);
    if (it != environment.end() && it->is_object() && it->contains(key)) return (*it)[key];
  }
  return environment.contains(key) ? environment[key] : Json(nullptr);
}

std::string environment_text(const Json& environment, const char* key, const char* fallback) {
  const Json value = environment_entry(environment, key);
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? fallback : to_text(value);
}

int64_t environment_integer(const Json& environment, const char* key) {
  const Json value = environment_entry(environment, key);
  return value.is_number() ? value.get<int64_t>() : 0;
}

bool environment_flag(const Json& environment, const char* key, bool fallback) {
  const Json value = environment_entry(environment, key);
  return value.is_boolean() ? value.get<bool>() : fallback;
}

// A number as the store keeps it: a value, or the name of what it is instead.
struct Number {
  std::optional<double> value;
  std::optional<std::string> special;
};

Number to_number(const Json& json, const Json& special) {
  if (json.is_number()) {
    const auto value = json.get<double>();
    if (const auto name = special_name(value)) return {std::nullopt, name};
    return {value, std::nullopt};
  }
  if (!json.is_null()) throw usage_error("not a number");
  const std::string name = special.is_string() ? special.get<std::string>() : "nan";
  return {std::nullopt, special_name(special_value(name))};
}

template <typename T>
Blob to_blob(const std::vector<T>& values) {
  static_assert(sizeof(T) == 8);
  Blob blob;
  blob.bytes.resize(values.size() * 8);
  if (!values.empty()) std::memcpy(blob.bytes.data(), values.data(), blob.bytes.size());
  return blob;
}

std::vector<int64_t> times_of(const Json& event, const char* key) {
  std::vector<int64_t> times;
  const auto it = event.find(key);
  if (it == event.end() || !it->is_array()) return times;
  for (const auto& entry : *it) {
    const auto time = std::llround(entry.get<double>());
    if (time < 0) throw usage_error("a negative time");
    times.push_back(time);
  }
  return times;
}

// What a worker's events come to.
struct Outcome {
  struct Metric {
    std::string name, split;
    int64_t step, train_ns;
    double epoch;
    Number number;
  };
  struct Layer {
    std::string layer, product, method;
    int64_t calls, exact_calls, macs_dense, macs_done;
    std::optional<double> density;
  };
  struct Block {
    int64_t pair;
    std::string arm;
    int64_t order, steps, ns;
  };

  std::optional<Json> start, final, error;
  std::vector<Metric> metrics;
  std::vector<Layer> layers;
  std::vector<Block> blocks;
  std::vector<int64_t> step_ns;
  std::vector<std::string> taint;
  int64_t malformed = 0;

  explicit Outcome(const std::vector<Json>& events) {
    for (const auto& event : events) {
      try {
        add(event);
      } catch (const std::exception&) {
        ++malformed;  // a worker may write anything; what it measured well still counts
      }
    }
  }

 private:
  void add(const Json& event) {
    const std::string kind = event.at("event").get<std::string>();
    if (kind == "start") {
      start = event;
    } else if (kind == "metric") {
      metrics.push_back({event.at("name").get<std::string>(), text_or(event, "split", ""),
                         event.at("step").get<int64_t>(), event.value("train_ns", int64_t{0}),
                         event.value("epoch", 0.0),
                         to_number(event.contains("value") ? event["value"] : Json(nullptr),
                                   event.contains("special") ? event["special"] : Json(nullptr))});
    } else if (kind == "layer") {
      const bool has_density = event.contains("density") && event["density"].is_number();
      layers.push_back(
          {event.at("layer").get<std::string>(), event.at("product").get<std::string>(),
           event.at("method").get<std::string>(), event.at("calls").get<int64_t>(),
           event.at("exact_calls").get<int64_t>(), event.at("macs_dense").get<int64_t>(),
           event.at("macs_done").get<int64_t>(),
           has_density ? std::optional(event["density"].get<double>()) : std::nullopt});
    } else if (kind == "block") {
      Block block{event.at("pair").get<int64_t>(), event.at("arm").get<std::string>(),
                  event.at("order").get<int64_t>(), event.at("steps").get<int64_t>(),
                  event.at("ns").get<int64_t>()};
      if ((block.arm != "dense" && block.arm != "approx") || block.steps <= 0 || block.ns <= 0) {
        throw usage_error("not a block");
      }
      blocks.push_back(std::move(block));
    } else if (kind == "final") {
      step_ns = times_of(event, "step_ns");
      if (event.contains("taint")) {
        for (const auto& reason : event["taint"]) taint.push_back(reason.get<std::string>());
      }
      final = event;
    } else if (kind == "error") {
      error = event;
    }
  }
};

int64_t host_id(SQLite::Database& db, const Json& environment) {
  const std::string hostname = environment_text(environment, "hostname", "unknown");
  const std::string cpu = environment_text(environment, "cpu_model", "unknown");
  const int64_t cores = environment_integer(environment, "n_cores");
  const std::string gpu = environment_text(environment, "gpu_model", "");
  const std::string machine = environment_text(
      environment, "fingerprint", fmt::format("{}/{}/{}", hostname, cpu, cores).c_str());
  // One machine with another accelerator is another machine to a clock.
  const std::string fingerprint = gpu.empty() ? machine : machine + "/" + gpu;
  execute(
      db,
      "INSERT INTO host(fingerprint, hostname, cpu_model, n_cores, ram_bytes, gpu_model, detail) "
      "VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
      fingerprint, hostname, cpu, cores, environment_integer(environment, "ram_bytes"), gpu,
      to_text({{"instruction_sets", environment_entry(environment, "instruction_sets")},
               {"kernel", environment_entry(environment, "kernel")}}));
  int64_t id = 0;
  for_each_row(
      db, "SELECT host_id FROM host WHERE fingerprint = ?",
      [&](SQLite::Statement& row) { id = row.getColumn(0).getInt64(); }, fingerprint);
  return id;
}

int64_t build_id(SQLite::Database& db, const Json& environment) {
  const std::vector<std::string> texts = {environment_text(environment, "git_sha", "unknown"),
                                          environment_text(environment, "compiler", "unknown"),
                                          environment_text(environment, "flags", ""),
                                          environment_text(environment, "torch", ""),
                                          environment_text(environment, "cuda", ""),
                                          environment_text(environment, "cudnn", "")};
  const bool dirty = environment_flag(environment, "dirty", false);
  execute(db,
          "INSERT INTO build(git_sha, dirty, compiler, flags, torch, cuda, cudnn) "
          "VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
          texts[0], dirty, texts[1], texts[2], texts[3], texts[4], texts[5]);
  int64_t id = 0;
  for_each_row(
      db,
      "SELECT build_id FROM build WHERE git_sha = ? AND dirty = ? AND compiler = ? AND flags = ? "
      "AND torch = ? AND cuda = ? AND cudnn = ?",
      [&](SQLite::Statement& row) { id = row.getColumn(0).getInt64(); }, texts[0], dirty, texts[1],
      texts[2], texts[3], texts[4], texts[5]);
  return id;
}

// The data set that the worker says it read, nothing when it does not say.
std::optional<int64_t> dataset_id(SQLite::Database& db, const Json& environment) {
  const Json data = environment_entry(environment, "dataset");
  if (!data.is_object()) return std::nullopt;
  const std::string name = text_or(data, "name", ""), variant = text_or(data, "variant", ""),
                    sha256 = text_or(data, "sha256", "");
  const Json lossy = data.value("lossy", Json(false));
  execute(db,
          "INSERT INTO dataset(name, variant, sha256, n_train, n_test, lossy) "
          "VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
          name, variant, sha256, integer_or_none(data, "n_train").value_or(0),
          integer_or_none(data, "n_test").value_or(0), lossy.is_boolean() && lossy.get<bool>());
  std::optional<int64_t> id;
  for_each_row(
      db, "SELECT dataset_id FROM dataset WHERE name = ? AND variant = ? AND sha256 = ?",
      [&](SQLite::Statement& row) { id = row.getColumn(0).getInt64(); }, name, variant, sha256);
  return id;
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
            run_id, layer.layer, layer.product, layer.method, layer.calls, layer.exact_calls,
            layer.macs_dense, layer.macs_done, layer.density);
  }
  for (const auto& block : outcome.blocks) {
    execute(db,
            "INSERT OR REPLACE INTO timing_block(run_id, pair, arm, block_order, steps, ns) "
            "VALUES(?, ?, ?, ?, ?, ?)",
            run_id, block.pair, block.arm, block.order, block.steps, block.ns);
  }
}

// Fills in `end` what the events know better.
RunEnd settle(RunEnd end, const Outcome& outcome) {
  if (end.state == RunState::kFinished) {
    const std::string state = outcome.final ? text_or(*outcome.final, "state", "") : "";
    if (state == RunState::kFinished || state == RunState::kDiverged ||
        state == RunState::kInterrupted) {
      end.state = state;
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

// Writes the end of a run inside the caller's transaction.
void write_end(SQLite::Database& db, int64_t run_id, const Outcome& outcome, const RunEnd& end) {
  std::string purpose;
  bool isolated = false;
  Json environment;
  for_each_row(
      db,
      "SELECT c.purpose, r.isolated, r.environment FROM run r JOIN cell c USING(cell_id) "
      "WHERE r.run_id = ? AND r.state = 'running'",
      [&](SQLite::Statement& row) {
        purpose = row.getColumn(0).getString();
        isolated = row.getColumn(1).getInt64() != 0;
        environment = Json::parse(row.getColumn(2).getString());
      },
      run_id);
  if (purpose.empty()) {
    throw Error(ErrorKind::kInternal, fmt::format("run {} is not running, it cannot end", run_id));
  }
  // A worker that says more of itself than was known when its run began.
  if (outcome.start) {
    environment.update(*outcome.start);
    isolated = environment_flag(environment, "isolated", isolated);
    execute(db,
            "UPDATE run SET environment = ?, isolated = ?, host_id = ?, build_id = ?, "
            "dataset_id = ? WHERE run_id = ?",
            to_text(environment), isolated, host_id(db, environment), build_id(db, environment),
            dataset_id(db, environment), run_id);
  }
  insert_details(db, run_id, outcome);

  const Json final = outcome.final.value_or(Json::object());
  std::optional<double> median, q1, q3;
  std::optional<Blob> step_ns;
  if (!outcome.step_ns.empty()) {
    const auto quarters = quartiles({outcome.step_ns.begin(), outcome.step_ns.end()});
    median = quarters.median, q1 = quarters.q1, q3 = quarters.q3;
    step_ns = to_blob(outcome.step_ns);
  }
  const bool timing_valid =
      purpose == "timing" && end.state == RunState::kFinished && isolated && end.taint.empty();
  const auto diverged_layer = text_or(final, "diverged_layer", "");
  execute(db,
          "UPDATE run SET state = ?, timing_valid = ?, taint = ?, ended_utc = ?, steps = ?, "
          "warmup_steps = ?, train_ns = ?, eval_ns = ?, data_ns = ?, wall_ns = ?, warmup_ns = ?, "
          "step_ns_median = ?, step_ns_q1 = ?, step_ns_q3 = ?, step_ns = ?, peak_rss_bytes = ?, "
          "diverged_step = ?, diverged_layer = ?, exit_code = ?, signal = ?, error = ? "
          "WHERE run_id = ?",
          end.state, timing_valid, to_text(Json(end.taint)), utc_now(),
          integer_or_none(final, "steps"), integer_or_none(final, "warmup_steps"),
          integer_or_none(final, "train_ns"), integer_or_none(final, "eval_ns"),
          integer_or_none(final, "data_ns"), integer_or_none(final, "wall_ns"),
          integer_or_none(final, "warmup_ns"), median, q1, q3, step_ns,
          integer_or_none(final, "peak_rss_bytes"), integer_or_none(final, "diverged_step"),
          diverged_layer.empty() ? std::nullopt : std::optional(diverged_layer), end.exit_code,
          end.signal, end.error, run_id);
}

// The complete lines of a worker's log; "progress" lines, of which there may be very many, are of
// no use afterwards.
std::vector<Json> read_events(const std::string& run_directory) {
  std::vector<Json> events;
  std::ifstream in(run_directory + "/events.jsonl", std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // cut off in the middle
    Json event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (event.is_discarded() || !event.is_object()) continue;
    if (text_or(event, "event", "") != "progress") events.push_back(std::move(event));
  }
  return events;
}

struct RunningRow {
  int64_t run_id = 0;
  std::string run_directory;
};

bool gone(const RunningRow& row) {
  return !RunLock::held(row.run_directory, RunLock::kWorker) &&
         !RunLock::held(row.run_directory, RunLock::kClaim);
}

// Ends a run that nobody works on any more, inside the caller's transaction.
void bury(SQLite::Database& db, const RunningRow& row) {
  const Outcome outcome(read_events(row.run_directory));
  RunEnd end;
  if (!outcome.final) {
    end.state = outcome.error ? RunState::kFailed : RunState::kLost;
    end.error = "its process ended without a trace";
    if (outcome.error) end.error.clear();
  }
  write_end(db, row.run_id, outcome, settle(end, outcome));
}

}  // namespace

struct RunStore::Impl {
  std::string path;
  StoreOptions options;
  Mode mode;
  mutable SQLite::Database db;
  std::map<int64_t, RunLock> claims;

  // Runs `work` in one transaction, waiting for other processes' locks.
  void write(const std::function<void()>& work) {
    if (mode == Mode::kRead) {
      throw Error(ErrorKind::kInternal, "the store was opened for reading");
    }
    with_retry(path, options, [&] {
      WriteTransaction transaction(db);
      work();
      transaction.commit();
    });
  }

  CellStatus status(std::string_view run_key) const {
    CellStatus status;
    for_each_row(
        db,
        "SELECT c.cell_id, (SELECT count(*) FROM run WHERE cell_id = c.cell_id), r.state, r.error, "
        "r.run_id, c.purpose = 'timing' AND r.state = 'finished' AND NOT r.timing_valid "
        "FROM cell c LEFT JOIN run r ON r.cell_id = c.cell_id "
        "WHERE c.run_key = ? ORDER BY r.attempt DESC LIMIT 1",
        [&](SQLite::Statement& row) {
          status.cell_id = row.getColumn(0).getInt64();
          status.attempts = row.getColumn(1).getInt64();
          if (!row.getColumn(2).isNull()) {
            status.state = row.getColumn(2).getString();
            status.error = row.getColumn(3).getString();
            status.run_id = row.getColumn(4).getInt64();
            status.tainted = row.getColumn(5).getInt() != 0;
          }
        },
        std::string(run_key));
    return status;
  }

  bool has_result(int64_t cell_id) const {
    bool found = false;
    for_each_row(
        db, "SELECT 1 FROM run WHERE cell_id = ? AND state IN ('finished', 'diverged') LIMIT 1",
        [&](SQLite::Statement&) { found = true; }, cell_id);
    return found;
  }

  // The rows in state running, of one cell or (0) of all.
  std::vector<RunningRow> running(int64_t cell_id) const {
    std::vector<RunningRow> rows;
    for_each_row(
        db,
        "SELECT run_id, run_directory FROM run WHERE state = 'running' AND (?1 = 0 OR cell_id = "
        "?1) "
        "ORDER BY run_id",
        [&](SQLite::Statement& row) {
          rows.push_back({row.getColumn(0).getInt64(), row.getColumn(1).getString()});
        },
        cell_id);
    return rows;
  }
};

RunStore::RunStore(const std::string& path, Mode mode, StoreOptions options) {
  auto db = mode == Mode::kWrite ? open_for_writing(path, options) : open_snapshot(path, options);
  impl_.reset(new Impl{path, std::move(options), mode, std::move(db), {}});
}

RunStore::~RunStore() = default;
RunStore::RunStore(RunStore&&) noexcept = default;

int64_t RunStore::add_experiment(const Experiment& experiment, const std::string& command_line) {
  int64_t id = 0;
  impl_->write([&] {
    auto& db = impl_->db;
    // Cells without a run belong to the experiment as long as its file stays the same: a sweep
    // narrowed by flags asks for some of them, and another may be running the rest right now.
    bool same_file = false;
    for_each_row(
        db, "SELECT text FROM experiment WHERE name = ?",
        [&](SQLite::Statement& row) {
          same_file = row.getColumn(0).getString() == experiment.text;
        },
        experiment.id);

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
            experiment.id, experiment.title, experiment.source, experiment.text, command_line,
            metric, value, to_text(experiment.report), utc_now());
    for_each_row(
        db, "SELECT experiment_id FROM experiment WHERE name = ?",
        [&](SQLite::Statement& row) { id = row.getColumn(0).getInt64(); }, experiment.id);
    execute(db,
            "DELETE FROM experiment_cell WHERE experiment_id = ? AND (cell_id IS NULL OR "
            "(NOT ? AND NOT EXISTS (SELECT 1 FROM run WHERE run.cell_id = "
            "experiment_cell.cell_id)))",
            id, static_cast<int64_t>(same_file));

    SQLite::Statement add_cell(
        db,
        "INSERT INTO cell(run_key, purpose, method, schedule, network, dataset, seed, split, "
        "train_examples, recipe, batch_size, precision, threads, device, config) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(run_key) DO NOTHING");
    SQLite::Statement add_member(
        db,
        "INSERT INTO experiment_cell(experiment_id, cell_id, method_label, schedule_label, "
        "network_label, dataset, purpose, seed, excluded, position) VALUES(?, CASE WHEN ?9 = '' "
        "THEN "
        "(SELECT cell_id FROM cell WHERE run_key = ?2) END, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
        "ON CONFLICT(experiment_id, cell_id) DO UPDATE SET position = excluded.position, "
        "method_label = excluded.method_label, schedule_label = excluded.schedule_label, "
        "network_label = excluded.network_label");
    int64_t position = 0;
    for (const auto& run : experiment.runs) {
      const auto& config = run.config;
      const std::string purpose(name(config.purpose));
      if (run.excluded.empty()) {
        add_cell.reset();
        bind_all(add_cell, run.key, purpose, config.method, to_text(Json(config.schedule)),
                 config.network, config.dataset, config.seed, config.split, config.train_examples,
                 to_text(Json(config.recipe)), config.batch_size, config.precision, config.threads,
                 config.device, to_text(Json(config)));
        add_cell.exec();
      }
      add_member.reset();
      bind_all(add_member, id, run.key, run.method_label, run.schedule_label, run.network_label,
               config.dataset, purpose, config.seed, run.excluded, position++);
      add_member.exec();
    }
    execute(db,
            "DELETE FROM cell WHERE cell_id NOT IN (SELECT cell_id FROM run) AND cell_id NOT IN "
            "(SELECT cell_id FROM experiment_cell WHERE cell_id IS NOT NULL)");
  });
  return id;
}

CellStatus RunStore::status(std::string_view run_key) const {
  CellStatus status;
  with_retry(impl_->path, impl_->options, [&] { status = impl_->status(run_key); });
  return status;
}

std::optional<int64_t> RunStore::begin(std::string_view run_key, const Json& environment,
                                       const std::string& run_directory,
                                       std::optional<int64_t> seen_attempts) {
  const std::string directory = std::filesystem::absolute(run_directory).string();
  auto claim = RunLock::acquire(directory, RunLock::kClaim);
  if (!claim) return std::nullopt;

  std::optional<int64_t> run_id;
  impl_->write([&] {
    run_id.reset();
    auto& db = impl_->db;
    const auto status = impl_->status(run_key);
    if (status.cell_id == 0) {
      throw Error(ErrorKind::kInternal, fmt::format("no cell has the key {}", run_key));
    }
    if (seen_attempts ? *seen_attempts != status.attempts : impl_->has_result(status.cell_id)) {
      return;
    }
    for (const auto& row : impl_->running(status.cell_id)) {
      // In the directory of the lost attempt this store itself holds the claim just taken.
      const bool same = row.run_directory == directory;
      if (same ? RunLock::held(directory, RunLock::kWorker) : !gone(row)) return;
      bury(db, row);
    }
    if (!seen_attempts && impl_->has_result(status.cell_id)) return;  // buried with a result
    std::string purpose;
    for_each_row(
        db, "SELECT purpose FROM cell WHERE cell_id = ?",
        [&](SQLite::Statement& row) { purpose = row.getColumn(0).getString(); }, status.cell_id);
    execute(db,
            "INSERT INTO run(cell_id, attempt, host_id, build_id, dataset_id, state, isolated, "
            "run_directory, started_utc, environment) "
            "VALUES(?, ?, ?, ?, ?, 'running', ?, ?, ?, ?)",
            status.cell_id, status.attempts + 1, host_id(db, environment),
            build_id(db, environment), dataset_id(db, environment),
            environment_flag(environment, "isolated", purpose == "timing"), directory, utc_now(),
            to_text(environment.is_object() ? environment : Json::object()));
    run_id = db.getLastInsertRowid();
  });
  if (run_id) impl_->claims.emplace(*run_id, std::move(*claim));
  return run_id;
}

void RunStore::finish(int64_t run_id, const std::vector<Json>& events, const RunEnd& end) {
  if (end.state == RunState::kRunning) {
    throw Error(ErrorKind::kInternal, "a run cannot end in the state running");
  }
  const Outcome outcome(events);
  const RunEnd settled = settle(end, outcome);
  impl_->write([&] { write_end(impl_->db, run_id, outcome, settled); });
  impl_->claims.erase(run_id);
}

int64_t RunStore::recover() {
  int64_t settled = 0;
  impl_->write([&] {
    settled = 0;
    for (const auto& row : impl_->running(0)) {
      if (!gone(row)) continue;
      bury(impl_->db, row);
      ++settled;
    }
  });
  return settled;
}

void RunStore::add_study(const Json& environment, const StudyRecord& study) {
  impl_->write([&] {
    auto& db = impl_->db;
    execute(db,
            "INSERT INTO study_run(experiment, name, params, methods, host_id, build_id, "
            "started_utc, environment, content) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            study.experiment, study.name, to_text(study.params), to_text(study.methods),
            host_id(db, environment), build_id(db, environment), utc_now(),
            to_text(environment.is_object() ? environment : Json::object()),
            to_text(study.content));
  });
}

bool RunStore::has_item_results(const std::string& experiment) const {
  bool found = false;
  for_each_row(
      impl_->db,
      "SELECT EXISTS(SELECT 1 FROM study_run WHERE experiment = ?1) OR "
      "EXISTS(SELECT 1 FROM kernel_run WHERE experiment = ?1)",
      [&](SQLite::Statement& row) { found = row.getColumn(0).getInt() != 0; }, experiment);
  return found;
}

void RunStore::add_kernel_results(const Json& environment, const std::vector<Json>& rows,
                                  const std::string& experiment) {
  impl_->write([&] {
    auto& db = impl_->db;
    execute(db,
            "INSERT INTO kernel_run(host_id, build_id, started_utc, environment, experiment) "
            "VALUES(?, ?, ?, ?, ?)",
            host_id(db, environment), build_id(db, environment), utc_now(),
            to_text(environment.is_object() ? environment : Json::object()), experiment);
    const int64_t run = db.getLastInsertRowid();
    for (const auto& row : rows) {
      const Json shape = row.value("shape", Json::object());
      const std::string key_texts[] = {
          text_or(row, "op", ""), text_or(row, "method", ""),        text_or(row, "variant", ""),
          to_text(shape),         text_or(row, "precision", "fp32"), text_or(row, "device", "cpu")};
      const int64_t threads = integer_or_none(row, "threads").value_or(1);
      execute(db,
              "INSERT INTO kernel_case(op, method, variant, shape, precision, threads, device) "
              "VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
              key_texts[0], key_texts[1], key_texts[2], key_texts[3], key_texts[4], threads,
              key_texts[5]);
      const auto ns = times_of(row, "ns"), baseline = times_of(row, "baseline_ns");
      std::optional<double> median, q1, q3, baseline_median;
      if (!ns.empty()) {
        const auto quarters = quartiles({ns.begin(), ns.end()});
        median = quarters.median, q1 = quarters.q1, q3 = quarters.q3;
      }
      if (!baseline.empty()) baseline_median = quantile({baseline.begin(), baseline.end()}, 0.5);
      Json special = Json::object();
      const auto number = [&](const char* key) {
        const auto it = row.find(key);
        if (it == row.end()) return std::optional<double>();
        const auto given = row.find("special");
        const bool marked = given != row.end() && given->is_object() && given->contains(key);
        if (it->is_null() && !marked) return std::optional<double>();
        const Number number = to_number(*it, marked ? (*given)[key] : Json(nullptr));
        if (number.special) special[key] = *number.special;
        return number.value;
      };
      const std::optional<double> numbers[] = {
          number("ratio"),   number("ratio_lo"),      number("ratio_hi"),
          number("gflops"),  number("dense_flops"),   number("flops"),
          number("plan_ns"), number("max_abs_error"), number("max_rel_error")};
      execute(
          db,
          "INSERT OR REPLACE INTO kernel_result(kernel_run_id, kernel_case_id, n, ns_median, "
          "ns_q1, ns_q3, ns, baseline_n, baseline_ns_median, baseline_ns, ratio, ratio_lo, "
          "ratio_hi, gflops, dense_flops, flops, plan_ns, max_abs_error, max_rel_error, "
          "special, verdict, reason, label) VALUES(?1, (SELECT kernel_case_id FROM kernel_case "
          "WHERE "
          "op = ?2 AND method = ?3 AND variant = ?4 AND shape = ?5 AND precision = ?6 AND "
          "threads = ?7 AND device = ?8), ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, "
          "?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)",
          run, key_texts[0], key_texts[1], key_texts[2], key_texts[3], key_texts[4], threads,
          key_texts[5], ns.size(), median, q1, q3, to_blob(ns), baseline.size(), baseline_median,
          to_blob(baseline), numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5],
          numbers[6], numbers[7], numbers[8], to_text(special),
          text_or(row, "verdict", "ambiguous"), text_or(row, "reason", ""),
          text_or(row, "label", text_or(shape, "label", "")));
    }
  });
}

}  // namespace approx
