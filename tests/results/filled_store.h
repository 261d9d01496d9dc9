// A store filled by hand: what the tests of results/ and of the commands that read it share.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/experiment/experiment.h"
#include "results/store/database.h"
#include "results/store/run_store.h"

namespace approx {

// A folder of its own for one test, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "approx-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// One planned run; its key is made of what tests vary.
inline PlannedRun planned(const std::string& method, int64_t seed,
                          Purpose purpose = Purpose::kAccuracy) {
  PlannedRun run;
  run.config.purpose = purpose;
  run.config.network = "lenet";
  run.config.dataset = "mnist";
  run.config.split = SplitKind::kPaper;
  run.config.method = method;
  if (method != "dense") run.config.schedule = {Rule{}};
  run.config.seed = seed;
  run.config.threads = 1;
  run.config.batch_size = 100;
  run.key = std::string(name(purpose)) + "/" + method + "/" + std::to_string(seed);
  run.method_label = method;
  run.schedule_label = method == "dense" ? "" : "all";
  run.network_label = "LeNet";
  return run;
}

// The same by several ranks, under another key.
inline PlannedRun of_ranks(int64_t ranks, PlannedRun run) {
  run.config.ranks = ranks;
  run.key += "-ranks";
  return run;
}

inline Experiment experiment_of(std::vector<PlannedRun> runs, const std::string& id = "test:one") {
  Experiment experiment;
  experiment.id = id;
  experiment.title = "A test";
  experiment.source = "test.toml";
  experiment.text = "# nothing";
  experiment.work = Trainings{std::move(runs)};
  return experiment;
}

inline Json environment_of(const std::string& host = "box", bool dirty = false,
                           bool lossy = false) {
  return {{"event", "start"},
          {"engine",
           {{"hostname", host},
            {"fingerprint", host + "-id"},
            {"cpu_model", "Test CPU"},
            {"n_cores", 2},
            {"ram_bytes", 1024},
            {"git_sha", "abc123"},
            {"dirty", dirty},
            {"compiler", "g++"},
            {"flags", "-O3"},
            {"torch", "2.11.0"},
            {"kernel_rules", kernel_rules_version()}}},
          {"dataset",
           {{"name", "mnist"},
            {"variant", "full"},
            {"sha256", lossy ? "jpeg" : "feed"},
            {"n_train", 60000},
            {"n_test", 10000},
            {"lossy", lossy}}}};
}

// The rows of a query as text, columns joined by `|`.
inline std::vector<std::string> query(const std::string& path, const std::string& sql) {
  auto db = open_snapshot(path);
  std::vector<std::string> rows;
  for_each_row(db, sql, [&](SQLite::Statement& row) {
    std::string text;
    for (int i = 0; i < row.getColumnCount(); ++i) {
      const auto column = row.getColumn(i);
      if (i) text += "|";
      text += column.isNull() ? "NULL" : column.getString();
    }
    rows.push_back(text);
  });
  return rows;
}

// Take what version 10 added out of a store, then all that version 9 did.
#define APPROX_BACK_TO_NINE                                                       \
  "DROP VIEW v_final; DROP VIEW v_paired; DROP VIEW v_timing; DROP VIEW v_cell; " \
  "ALTER TABLE cell DROP COLUMN patience; ALTER TABLE run DROP COLUMN ended_by; " \
  "DROP VIEW v_kernel; ALTER TABLE timing_block DROP COLUMN slowed_by; "          \
  "ALTER TABLE kernel_result DROP COLUMN clock_mhz; "                             \
  "ALTER TABLE kernel_result DROP COLUMN baseline_clock_mhz; "                    \
  "ALTER TABLE kernel_result DROP COLUMN clock_khz; "                             \
  "ALTER TABLE kernel_result DROP COLUMN baseline_clock_khz; "                    \
  "ALTER TABLE kernel_result DROP COLUMN held_back; "                             \
  "ALTER TABLE run DROP COLUMN start_ns; ALTER TABLE run DROP COLUMN aside_ns; "
inline constexpr const char* kBackToNine = APPROX_BACK_TO_NINE;
inline constexpr const char* kBackToEight =
    APPROX_BACK_TO_NINE "DROP TABLE layer_traffic; PRAGMA user_version = 8";

inline Json accuracy_event(int64_t epoch, double value, const std::string& split = "test") {
  return {{"event", "metric"},   {"name", "accuracy"}, {"split", split},
          {"step", epoch * 600}, {"epoch", epoch},     {"train_ns", epoch * 1'000'000'000},
          {"value", value}};
}

// Steps of 10 ms but for one, evaluations after each epoch of one second.
inline Json final_event(int64_t train_ns, RunState state = RunState::kFinished) {
  return {{"event", "final"},
          {"state", name(state)},
          {"steps", 4},
          {"warmup_steps", 1},
          {"train_ns", train_ns},
          {"eval_ns", 1000},
          {"wall_ns", train_ns + 1700},
          {"warmup_ns", 200},
          {"step_ns", {10'000'000, 10'000'000, 10'000'000, 14'000'000}},
          {"peak_rss_bytes", 1 << 20}};
}

// The events of a run with these test accuracies, one an epoch of a second.
inline std::vector<Json> accuracy_events(const std::vector<double>& accuracies,
                                         RunState state = RunState::kFinished) {
  std::vector<Json> events;
  for (size_t i = 0; i < accuracies.size(); ++i) {
    events.push_back(accuracy_event(static_cast<int64_t>(i) + 1, accuracies[i]));
  }
  events.push_back(final_event(static_cast<int64_t>(accuracies.size()) * 1'000'000'000, state));
  return events;
}

inline Json traffic_event(const std::string& layer, int64_t calls, int64_t bytes,
                          int64_t bytes_dense) {
  return {{"event", "traffic"},
          {"layer", layer},
          {"calls", calls},
          {"bytes", bytes},
          {"bytes_dense", bytes_dense}};
}

inline Json block_event(int64_t pair, const std::string& arm, int64_t steps, int64_t ns) {
  return {{"event", "block"}, {"pair", pair}, {"arm", arm}, {"order", arm == "dense" ? 0 : 1},
          {"steps", steps},   {"ns", ns}};
}

}  // namespace approx
