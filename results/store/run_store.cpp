#include "results/store/run_store.h"

#include <filesystem>
#include <map>

#include "results/store/ending.h"
#include "results/store/experiment_rows.h"
#include "results/store/item_rows.h"
#include "results/store/json_values.h"
#include "results/store/origin.h"
#include "results/store/run_lock.h"

namespace approx {
namespace {

// Whether a run is gone for a store that has just claimed `directory`: in that of the lost attempt
// itself it is the store that holds the claim.
bool gone_for(const RunningRow& row, const std::string& directory) {
  return row.run_directory == directory ? !RunLock::held(directory, RunLock::kWorker) : gone(row);
}

}  // namespace

struct RunStore::Impl {
  std::string path;
  StoreOptions options;
  Mode mode;
  mutable SQLite::Database db;
  std::map<int64_t, RunLock> claims;

  void expect_writing() const {
    if (mode == Mode::kRead) {
      throw Error(ErrorKind::kInternal, "the store was opened for reading");
    }
  }

  // Runs `work` in one transaction, waiting for other processes' locks.
  void write(const std::function<void()>& work) {
    expect_writing();
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
            status.state = stored_run_state(text_at(row, 2));
            status.error = text_at(row, 3);
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

  // The rows in state running, of one cell or (0) of all. By their own index, which has a few rows:
  // left to itself SQLite reads all runs, to have them in order.
  std::vector<RunningRow> running(int64_t cell_id) const {
    std::vector<RunningRow> rows;
    for_each_row(
        db,
        "SELECT run_id, run_directory FROM run INDEXED BY one_running WHERE state = 'running' AND "
        "(?1 = 0 OR cell_id = ?1) ORDER BY run_id",
        [&](SQLite::Statement& row) {
          rows.push_back({row.getColumn(0).getInt64(), text_at(row, 1)});
        },
        cell_id);
    return rows;
  }

  bool is_running(int64_t run_id) const {
    bool found = false;
    for_each_row(
        db, "SELECT 1 FROM run WHERE run_id = ? AND state = 'running'",
        [&](SQLite::Statement&) { found = true; }, run_id);
    return found;
  }

  // What the logs of a cell's attempts say that are gone, read while others may write.
  std::map<int64_t, Outcome> logs_of_the_gone(int64_t cell_id, const std::string& directory) const {
    std::map<int64_t, Outcome> logs;
    if (cell_id == 0) return logs;
    std::vector<RunningRow> rows;
    with_retry(path, options, [&] { rows = running(cell_id); });
    for (const auto& row : rows) {
      if (gone_for(row, directory)) {
        logs.emplace(row.run_id, Outcome(read_events(row.run_directory)));
      }
    }
    return logs;
  }
};

RunStore::RunStore(const std::string& path, Mode mode, StoreOptions options) {
  auto db = mode == Mode::kWrite ? open_for_writing(path, options) : open_snapshot(path, options);
  impl_ = std::make_unique<Impl>(Impl{path, std::move(options), mode, std::move(db), {}});
}

RunStore::~RunStore() = default;
RunStore::RunStore(RunStore&&) noexcept = default;

void RunStore::set_pause(std::function<void(std::chrono::milliseconds)> pause) {
  impl_->options.pause = std::move(pause);
}

int64_t RunStore::add_experiment(const Experiment& experiment, const std::string& command_line,
                                 Retire retire) {
  int64_t id = 0;
  impl_->write([&] {
    id = write_experiment(impl_->db, experiment, command_line, retire == Retire::kUnasked);
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
  const auto logs = impl_->logs_of_the_gone(status(run_key).cell_id, directory);
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
      const auto log = logs.find(row.run_id);
      if (log == logs.end() || !gone_for(row, directory)) return;
      bury(db, row, log->second);
    }
    if (!seen_attempts && impl_->has_result(status.cell_id)) return;  // buried with a result
    std::string purpose;
    for_each_row(
        db, "SELECT purpose FROM cell WHERE cell_id = ?",
        [&](SQLite::Statement& row) { purpose = text_at(row, 0); }, status.cell_id);
    execute(db,
            "INSERT INTO run(cell_id, attempt, host_id, build_id, dataset_id, state, isolated, "
            "run_directory, started_utc, environment, uid) "
            "VALUES(?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, ?)",
            status.cell_id, status.attempts + 1, host_id(db, environment),
            build_id(db, environment), dataset_id(db, environment),
            environment_flag(environment, "isolated", purpose == name(Purpose::kTiming)), directory,
            utc_now(), environment_column(environment), new_uid());
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
  impl_->expect_writing();
  std::vector<RunningRow> rows;
  with_retry(impl_->path, impl_->options, [&] { rows = impl_->running(0); });
  int64_t settled = 0;
  for (const auto& row : rows) {
    if (!gone(row)) continue;
    const Outcome log(read_events(row.run_directory));
    bool buried = false;
    impl_->write([&] {
      buried = impl_->is_running(row.run_id);  // nobody else was quicker
      if (buried) bury(impl_->db, row, log);
    });
    if (buried) ++settled;
  }
  return settled;
}

void RunStore::add_study(const Json& environment, const StudyRecord& study) {
  impl_->write([&] { write_study(impl_->db, environment, study); });
}

void RunStore::add_kernel_results(const Json& environment, const std::vector<Json>& rows,
                                  const std::string& experiment) {
  impl_->write([&] { write_kernel_results(impl_->db, environment, rows, experiment); });
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

}  // namespace approx
