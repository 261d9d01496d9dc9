#include "results/store/run_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/files.h"
#include "results/store/ending.h"
#include "results/store/experiment_rows.h"
#include "results/store/journal.h"
#include "results/store/journal_entries.h"
#include "results/store/json_values.h"
#include "results/store/origin.h"
#include "results/store/run_folders.h"
#include "results/store/run_lock.h"

namespace approx {
namespace {

// Whether a run is gone for a store that has just claimed `directory`: in that of the lost attempt
// itself it is the store that holds the claim.
bool gone_for(const RunningRow& row, const std::string& directory) {
  return row.run_directory == directory ? !RunLock::held(directory, RunLock::kWorker) : gone(row);
}

// What the store takes from the log of a run is to be on the disk before it says so. A worker that
// came to its last event has seen to that.
void sync_log(const RunningRow& row, const Outcome& log) {
  if (log.final || log.error) return;
  const std::string path = row.run_directory + "/" + kEventsFile;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return;  // it never came to write one
  if (!file || ::fsync(file.get()) != 0) throw database_error("{}: {}", path, strerror(errno));
}

}  // namespace

struct RunStore::Impl {
  std::string path;
  StoreOptions options;
  Mode mode;
  mutable SQLite::Database db;
  Journal journal;
  std::map<int64_t, RunLock> claims;

  void expect_writing() const {
    if (mode == Mode::kRead) {
      throw Error(ErrorKind::kInternal, "the store was opened for reading");
    }
  }

  // Runs `work` in one transaction, waiting for other processes' locks; what it adds to the journal
  // is on the disk before it is committed.
  void write(const std::function<void()>& work) {
    expect_writing();
    journal.write(db, options, work);
  }

  // Does what an entry tells, inside such a transaction.
  void apply(Json entry) {
    apply_entry(db, {.entry = entry}, runs_directory(path));
    journal.add(std::move(entry));
  }

  CellStatus status(std::string_view run_key) const {
    CellStatus status;
    for_each_row(
        db,
        "SELECT c.cell_id, (SELECT count(*) FROM run WHERE cell_id = c.cell_id), r.state, r.error, "
        "r.run_id, c.purpose = 'timing' AND r.state = 'finished' AND NOT r.timing_valid, b.git_sha "
        "FROM cell c LEFT JOIN run r ON r.cell_id = c.cell_id LEFT JOIN build b USING(build_id) "
        "WHERE c.run_key = ? ORDER BY r.attempt DESC LIMIT 1",
        [&](SQLite::Statement& row) {
          status.cell_id = row.getColumn(0).getInt64();
          status.attempts = row.getColumn(1).getInt64();
          if (!row.getColumn(2).isNull()) {
            status.state = stored_run_state(text_at(row, 2));
            status.error = text_at(row, 3);
            status.run_id = row.getColumn(4).getInt64();
            status.tainted = row.getColumn(5).getInt() != 0;
            status.commit = text_at(row, 6);
          }
        },
        std::string(run_key));
    return status;
  }

  bool has_result(int64_t cell_id) const {
    return has_row(db, "SELECT 1 FROM run WHERE cell_id = ? AND state IN ('finished', 'diverged')",
                   cell_id);
  }

  // The rows in state running, of one cell or (0) of all. By their own index, which has a few rows:
  // left to itself SQLite reads all runs, to have them in order.
  std::vector<RunningRow> running(int64_t cell_id) const {
    std::vector<RunningRow> rows;
    for_each_row(
        db,
        "SELECT run_id, run_directory, uid FROM run INDEXED BY one_running "
        "WHERE state = 'running' AND (?1 = 0 OR cell_id = ?1) ORDER BY run_id",
        [&](SQLite::Statement& row) {
          rows.push_back({row.getColumn(0).getInt64(), text_at(row, 1), text_at(row, 2)});
        },
        cell_id);
    return rows;
  }

  // Nothing where it has ended.
  std::optional<RunningRow> running_row(int64_t run_id) const {
    const Json row = first_row(
        db, "SELECT run_directory, uid FROM run WHERE run_id = ? AND state = 'running'", run_id);
    if (row.is_null()) return std::nullopt;
    return RunningRow{run_id, row["run_directory"].get<std::string>(),
                      row["uid"].get<std::string>()};
  }

  // Throws Error(kInternal) where it has.
  RunningRow expect_running(int64_t run_id, const char* cannot) const {
    if (const auto row = running_row(run_id)) return *row;
    throw Error(ErrorKind::kInternal,
                fmt::format("run {} is not running, it cannot {}", run_id, cannot));
  }

  // Ends a run that is gone.
  RunEnding settle_gone(const RunningRow& row, const Outcome& log) {
    sync_log(row, log);
    return bury(db, row, log);
  }

  // What the logs of a cell's attempts say that are gone, read while others may write.
  std::map<int64_t, Outcome> logs_of_the_gone(int64_t cell_id, const std::string& directory) const {
    std::map<int64_t, Outcome> logs;
    if (cell_id == 0) return logs;
    std::vector<RunningRow> rows;
    with_retry(path, options, [&] { rows = running(cell_id); });
    for (const auto& row : rows) {
      if (gone_for(row, directory)) {
        logs.emplace(row.run_id, Outcome(read_events_before_damage(row.run_directory)));
      }
    }
    return logs;
  }
};

RunStore::RunStore(const std::string& path, Mode mode, StoreOptions options) {
  auto db = mode == Mode::kWrite ? open_for_writing(path, options) : open_snapshot(path, options);
  impl_ = std::make_unique<Impl>(
      Impl{path, std::move(options), mode, std::move(db), Journal(path), {}});
}

RunStore::~RunStore() = default;
RunStore::RunStore(RunStore&&) noexcept = default;

void RunStore::set_pause(std::function<void(std::chrono::milliseconds)> pause) {
  impl_->options.pause = std::move(pause);
}

int64_t RunStore::add_experiment(const Experiment& experiment, const std::string& command_line,
                                 Retire retire, const std::function<bool()>& others_at_work) {
  int64_t id = 0;
  impl_->write([&] {
    const bool others = others_at_work && others_at_work();
    const Json row =
        experiment_row(experiment, command_line, retire == Retire::kUnasked && !others);
    ExperimentWriter writer(impl_->db, row);
    int64_t members = 0;
    for (const auto& run : experiment.runs()) {
      std::string config;
      if (run.excluded.empty()) {
        config = json_text(Json(run.config));
        if (!writer.add_cell(run.key, run.config, config)) config.clear();  // it is known
      }
      const Json member = member_row(run);
      writer.add(member);
      impl_->journal.add_part(member_part(member, config));
      ++members;
    }
    id = writer.finish();
    impl_->journal.add(experiment_entry(row, members));
  });
  return id;
}

std::string RunStore::other_source(const Experiment& experiment) const {
  const std::string other =
      first_text(impl_->db, "SELECT source FROM experiment WHERE name = ? AND text <> ?",
                 experiment.id, experiment.text);
  // Folders differ between machines, and a file that was edited is the same.
  const auto file = [](const std::string& path) { return std::filesystem::path(path).filename(); };
  return file(other) == file(experiment.source) ? "" : other;
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
    std::optional<RunEnding> settled;
    for (const auto& row : impl_->running(status.cell_id)) {
      const auto log = logs.find(row.run_id);
      if (log == logs.end() || !gone_for(row, directory)) return;
      settled = impl_->settle_gone(row, log->second);
    }
    if (!seen_attempts && impl_->has_result(status.cell_id)) {  // buried with a result
      if (settled) impl_->journal.add(end_entry(*settled));
      return;
    }
    const auto purpose =
        first_text(db, "SELECT purpose FROM cell WHERE cell_id = ?", status.cell_id);
    const auto last = first_text(db, "SELECT max(uid) FROM run WHERE cell_id = ?", status.cell_id);
    const bool alone = environment_flag(environment, "isolated", purpose == name(Purpose::kTiming));
    const Json run = {{"uid", new_uid(last)},   {"run_key", run_key},         {"utc", utc_now()},
                      {"directory", directory}, {"environment", environment}, {"isolated", alone}};
    run_id = insert_run(db, run);
    impl_->journal.add(begin_entry(run, settled));
  });
  if (run_id) impl_->claims.emplace(*run_id, std::move(*claim));
  return run_id;
}

void RunStore::finish(int64_t run_id, const std::vector<Json>& events, const RunEnd& end) {
  if (end.state == RunState::kRunning) {
    throw Error(ErrorKind::kInternal, "a run cannot end in the state running");
  }
  const Outcome outcome(events);
  RunEnding ending{.uid = "", .utc = "", .end = settle(end, outcome), .events = outcome.taken};
  impl_->write([&] {
    const auto row = impl_->expect_running(run_id, "end");
    sync_log(row, outcome);
    ending.uid = row.uid, ending.utc = utc_now();
    write_end(impl_->db, outcome, ending);
    impl_->journal.add(end_entry(ending));
  });
  impl_->claims.erase(run_id);
}

void RunStore::discard(int64_t run_id) {
  impl_->write(
      [&] { impl_->apply(discard_entry(impl_->expect_running(run_id, "be taken back").uid)); });
  impl_->claims.erase(run_id);
}

int64_t RunStore::recover() {
  impl_->expect_writing();
  std::vector<RunningRow> rows;
  with_retry(impl_->path, impl_->options, [&] { rows = impl_->running(0); });
  int64_t settled = 0;
  for (const auto& row : rows) {
    if (!gone(row)) continue;
    const Outcome log(read_events_before_damage(row.run_directory));
    bool buried = false;
    impl_->write([&] {
      buried = impl_->running_row(row.run_id).has_value();  // nobody else was quicker
      if (buried) impl_->journal.add(end_entry(impl_->settle_gone(row, log)));
    });
    if (buried) ++settled;
  }
  return settled;
}

void RunStore::add_study(const Json& environment, const StudyRecord& study) {
  impl_->write([&] { impl_->apply(study_entry(environment, study)); });
}

void RunStore::add_kernel_results(const Json& environment, const std::vector<Json>& rows,
                                  const std::string& experiment) {
  impl_->write([&] { impl_->apply(kernels_entry(environment, rows, experiment)); });
}

bool RunStore::has_item_results(const std::string& experiment) const {
  return has_row(impl_->db,
                 "SELECT 1 FROM study_run WHERE experiment = ?1 UNION ALL "
                 "SELECT 1 FROM kernel_run WHERE experiment = ?1",
                 experiment);
}

}  // namespace approx
