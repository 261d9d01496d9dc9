#include "cli/serve/live_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "core/experiment/grid.h"
#include "results/reports/report.h"
#include "results/store/ending.h"
#include "results/store/run_folders.h"
#include "results/store/run_state.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kTryAgain{5};
constexpr const char* kToDo = "to do";
constexpr const char* kGone = "gone";  // begun by a process that is no more

// What a file is at this moment, as far as its folder says; "" where there is none.
std::string stamp_of(const std::string& path) {
  struct stat at {};
  if (stat(path.c_str(), &at) != 0) return "";
  return fmt::format("{}:{}:{}.{:09}", at.st_ino, at.st_size, at.st_mtim.tv_sec,
                     at.st_mtim.tv_nsec);
}

// SQLite's count of the changes of a database. The clock of a file system is too coarse to tell two
// changes apart. Closing a file ends this process's locks on it, so no connection to it may be
// open.
std::string change_count_of(const std::string& path) {
  constexpr std::streamoff kPlace = 24;  // in the head of the file
  std::array<char, 4> bytes{};
  std::ifstream in(path, std::ios::binary);
  if (in.seekg(kPlace)) in.read(bytes.data(), bytes.size());
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// The columns of a fact are in the order of kFacts, but for the state, which is made.
constexpr const char* kRunsSql =
    "SELECT c.seed, r.run_id, r.state, r.error, r.run_directory, r.started_utc, r.train_ns / 1e9, "
    "(SELECT value FROM metric x WHERE x.run_id = r.run_id AND name = 'accuracy' AND split = "
    "'test' "
    "ORDER BY step DESC LIMIT 1), "
    "(SELECT epoch FROM metric x WHERE x.run_id = r.run_id AND name = 'accuracy' AND split = "
    "'test' "
    "ORDER BY step DESC LIMIT 1), c.purpose, r.timing_valid, "
    "e.name AS experiment, m.method_label AS method, m.schedule_label AS schedule, "
    "m.network_label AS network, c.dataset AS dataset, c.purpose AS purpose, "
    "c.precision AS precision, c.device AS device, h.hostname AS machine, "
    "CASE WHEN c.device = 'cpu' THEN h.cpu_model ELSE h.gpu_model END AS processor, "
    "c.threads AS threads, c.batch_size AS batch, json_extract(c.recipe, '$.epochs') AS epochs, "
    "json_extract(c.recipe, '$.learning_rate') AS rate, "
    "CASE c.train_examples WHEN 0 THEN 'all' ELSE c.train_examples END AS images, "
    "c.split AS split, substr(b.git_sha, 1, 12) AS build, c.seed AS seed "
    "FROM (SELECT cell_id, min(experiment_cell_id) AS first FROM experiment_cell "
    "WHERE cell_id IS NOT NULL GROUP BY cell_id) f "
    "JOIN cell c ON c.cell_id = f.cell_id "
    "JOIN experiment_cell m ON m.experiment_cell_id = f.first "
    "JOIN experiment e ON e.experiment_id = m.experiment_id "
    "LEFT JOIN run r ON r.run_id = (SELECT x.run_id FROM run x WHERE x.cell_id = c.cell_id "
    "ORDER BY x.state = 'running' DESC, x.state IN ('finished', 'diverged') DESC, x.attempt DESC "
    "LIMIT 1) "
    "LEFT JOIN host h ON h.host_id = r.host_id LEFT JOIN build b ON b.build_id = r.build_id "
    "ORDER BY m.experiment_id, m.position, c.cell_id";

LiveRun live_run(SQLite::Statement& row) {
  LiveRun run;
  for (size_t i = 0; i < kFacts.size(); ++i) {
    const std::string_view key = kFacts[i].key;
    if (key != "state") run.facts[i] = text_at(row, kFacts[i].key);
  }
  const auto fact = [&](std::string_view key) -> std::string& {
    return run.facts[fact_named(key)];
  };
  run.label = run_text({fact("method"), fact("schedule"), fact("network")}, fact("dataset"),
                       row.getColumn(0).getInt64());
  auto& state = fact("state");
  if (row.getColumn(1).isNull()) {
    state = kToDo;
    return run;
  }
  run.run_id = row.getColumn(1).getInt64();
  state = text_at(row, 2);
  run.error = text_at(row, 3);
  run.folder = text_at(row, 4);
  run.started = text_at(row, 5);
  run.train_s = optional_real(row.getColumn(6));
  run.accuracy = optional_real(row.getColumn(7));
  run.epoch = optional_real(row.getColumn(8));
  run.at_work = stored_run_state(state) == RunState::kRunning;
  const bool timing = text_at(row, 9) == "timing" && row.getColumn(10).getInt() == 0;
  if (state == name(RunState::kFinished) && timing) state += ", tainted";
  return run;
}

}  // namespace

size_t fact_named(std::string_view key) {
  const auto found =
      std::ranges::find(kFacts, key, [](const Fact& fact) { return std::string_view(fact.key); });
  return static_cast<size_t>(found - kFacts.begin());
}

LiveStore::LiveStore(std::string path, const Catalogue* catalogue)
    : path_(std::move(path)), catalogue_(catalogue) {}

LiveStore::~LiveStore() = default;

void LiveStore::open(const StoreOptions& options) {
  check_named(path_);
  const auto folder = fs::absolute(path_).parent_path();
  std::error_code error;
  if (!fs::exists(path_, error) && !error && fs::is_directory(folder, error)) {
    renew();
    return;
  }
  stamp_ = stamp();
  read(options);
  follow_runs();
}

std::string LiveStore::stamp() const {
  const std::string file = stamp_of(path_);
  return file.empty() ? "" : file + " " + change_count_of(path_);
}

std::string LiveStore::events_stamp() const {
  std::string stamps;
  for (const auto& run : runs_) {
    if (run.at_work) stamps += stamp_of(run.folder + "/" + kEventsFile) + "\n";
  }
  return stamps;
}

bool LiveStore::changed() const {
  if (again_ && std::chrono::steady_clock::now() >= *again_) return true;
  return stamp() != stamp_ || events_stamp() != events_stamp_;
}

void LiveStore::renew() {
  const auto now = std::chrono::steady_clock::now();
  const std::string stamp_now = stamp();
  if (stamp_now.empty()) {
    stamp_.clear();
    problem_ = snapshot_
                   ? fmt::format("{} is gone; what was read before is shown", path_)
                   : fmt::format("{} is not there yet: waiting for a sweep that makes it", path_);
    return;
  }
  const bool again = again_ && now >= *again_;
  if (stamp_now != stamp_ || again) {
    stamp_ = stamp_now;
    again_.reset();
    try {
      StoreOptions options;
      options.lock_timeout = std::chrono::seconds(2);
      options.check_pages = false;  // not each time
      read(options);
      problem_.clear();
    } catch (const std::exception& error) {
      problem_ = error.what();
      again_ = now + kTryAgain;
    }
  }
  follow_runs();
}

void LiveStore::read(const StoreOptions& options) {
  StoreOptions reading = options;
  reading.undo_unfinished = false;  // that would write
  snapshot_ = std::make_unique<Snapshot>(path_, reading);
  read_runs();
  ReportOptions report;
  report.catalogue = catalogue_;
  report.verdicts = true;
  try {
    verdicts_ = Registry<Report>::instance().find("table").make(*snapshot_, report);
  } catch (const Error& error) {
    verdicts_ = {.name = "table", .notes = {error.what()}};
  }
}

void LiveStore::read_runs() {
  std::vector<LiveRun> runs;
  for_each_row(snapshot_->db(), kRunsSql,
               [&](SQLite::Statement& row) { runs.push_back(live_run(row)); });
  runs_ = std::move(runs);
  std::erase_if(tails_, [&](const auto& tail) {
    return std::ranges::none_of(
        runs_, [&](const LiveRun& run) { return run.at_work && run.run_id == tail.first; });
  });
}

void LiveStore::follow_runs() {
  events_stamp_ = events_stamp();  // before reading: what comes meanwhile is seen the next time
  for (auto& run : runs_) {
    if (!run.at_work) continue;
    std::error_code error;
    // A folder that is not here is another machine's: of that run nobody can tell.
    if (fs::is_directory(run.folder, error) && gone({.run_directory = run.folder})) {
      run.at_work = false;
      run.facts[fact_named("state")] = kGone;
      continue;
    }
    auto& tail = tails_.try_emplace(run.run_id, run.folder + "/" + kEventsFile).first->second;
    tail.read();
    const auto& points = tail.curve().accuracy();
    if (points.empty()) continue;
    run.epoch = points.back().epoch;
    run.accuracy = points.back().value;
    run.train_s = points.back().seconds;
  }
  if (snapshot_) sweeps_ = sweep_status(*snapshot_, "");
}

LiveCurve LiveStore::curve(const LiveRun& run) const {
  const auto tail = tails_.find(run.run_id);
  if (run.at_work && tail != tails_.end()) return tail->second.curve();
  return run.run_id != 0 && snapshot_ ? stored_curve(*snapshot_, run.run_id) : LiveCurve();
}

}  // namespace approx
