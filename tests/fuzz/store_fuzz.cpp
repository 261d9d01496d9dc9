// Databases of results: damaged, of unknown origin, or sound with a content that no program of ours
// wrote; opened, checked, reported, exported and merged. What is only read is not written to.
//
// The first byte chooses who reads, and whether a journal lies beside the file: a piece of the
// file, or one that names another file, which SQLite would delete. Then comes the file itself; or,
// after a zero byte, changes of a small store in triples (place, length, byte) of 3, 1 and 1 bytes;
// or anything else, which is executed as SQL on that store before it is read.
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "results/records/items.h"
#include "results/render/table.h"
#include "results/reports/compare.h"
#include "results/reports/export.h"
#include "results/reports/report.h"
#include "results/reports/sweep_status.h"
#include "results/store/maintenance.h"
#include "results/store/merge.h"
#include "results/store/run_history.h"
#include "tests/core/config/test_catalogue.h"
#include "tests/fuzz/fuzz.h"
#include "tests/results/filled_store.h"
#include "tests/results/hostile_journal.h"

namespace approx::fuzz {
namespace {

namespace fs = std::filesystem;

Json layer_event(const char* product, int64_t dense, int64_t done) {
  return {{"event", "layer"},    {"layer", "conv1"},  {"product", product},
          {"method", "zero"},    {"calls", 1},        {"exact_calls", 0},
          {"macs_dense", dense}, {"macs_done", done}, {"density", 0.5}};
}

// Accuracies, timings, a kernel benchmark and a study: something for every reader.
void fill(const std::string& path) {
  RunStore store(path, RunStore::Mode::kWrite);
  std::vector<PlannedRun> runs;
  for (const auto purpose : {Purpose::kAccuracy, Purpose::kTiming}) {
    for (const int64_t seed : {0, 1}) {
      runs.push_back(planned("dense", seed, purpose));
      runs.push_back(planned("zero", seed, purpose));
    }
  }
  auto experiment = experiment_of(runs);
  experiment.target = Target{.metric = "accuracy", .value = 0.6};
  store.add_experiment(experiment, "fuzz");
  for (const auto& run : runs) {
    const auto id = store.begin(run.key, environment_of(), scratch_folder() + "/filled");
    std::vector<Json> events = accuracy_events({0.5, 0.7});
    events.insert(events.begin(),
                  {traffic_event("conv1", 4, 300, 600), traffic_event("", 4, 8, 8)});
    if (run.config.purpose == Purpose::kTiming) {
      events = {block_event(0, "dense", 4, 1000), block_event(0, "approx", 4, 900),
                layer_event("forward", 100, 100), layer_event("weight_gradient", 100, 0),
                final_event(1000)};
    }
    store.finish(*id, events, {});
  }
  store.add_kernel_results(environment_of(), {{{"op", "weight_gradient"},
                                               {"method", "zero"},
                                               {"variant", "skip"},
                                               {"shape", {{"batch", 8}}},
                                               {"label", "conv1"},
                                               {"precision", "fp32"},
                                               {"threads", 1},
                                               {"device", "cpu"},
                                               {"ns", {1000, 2000}},
                                               {"baseline_ns", {4000}},
                                               {"ratio", 2.0},
                                               {"ratio_lo", 1.5},
                                               {"ratio_hi", 2.5},
                                               {"gflops", 3.0},
                                               {"max_rel_error", 0.0},
                                               {"verdict", "faster"}}});
  store.add_study(environment_of(),
                  {.experiment = "",
                   .name = "s",
                   .content = {{"columns", {"a", "b"}}, {"rows", {{1, 2.5}, {"x", nullptr}}}}});
}

// The bytes of that store in small pages.
const Buffer& small_store() {
  static const Buffer bytes = [] {
    const std::string path = scratch_folder() + "/filled.db", small = scratch_folder() + "/small";
    fill(path);
    SQLite::Database db(path, SQLite::OPEN_READWRITE);
    db.exec("PRAGMA page_size = 512");
    execute(db, "VACUUM INTO ?", small);
    return read_file(small, 1 << 24);
  }();
  return bytes;
}

Buffer changed_store(Bytes changes) {
  Buffer bytes = small_store();
  for (; changes.size() >= 5; changes = changes.subspan(5)) {
    const size_t place = size_t{changes[0]} << 16 | size_t{changes[1]} << 8 | changes[2];
    for (size_t i = 0; i <= changes[3]; ++i) bytes[(place + i) % bytes.size()] = changes[4];
  }
  // Bytes that are left cut the file or add to it.
  if (!changes.empty()) bytes.resize(bytes.size() * 2 * changes[0] / 255);
  return bytes;
}

// What fuzzing may do to the content of a store: no other file, no endless query.
Buffer store_after(std::string_view sql) {
  const auto path = scratch_file("after.db", small_store());
  SQLite::Database db(path, SQLite::OPEN_READWRITE);
  db.exec("PRAGMA ignore_check_constraints = ON");
  sqlite3_limit(db.getHandle(), SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db.getHandle(), SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_set_authorizer(
      db.getHandle(),
      [](void*, int action, const char*, const char*, const char*, const char*) {
        return action == SQLITE_PRAGMA || action == SQLITE_ATTACH ? SQLITE_DENY : SQLITE_OK;
      },
      nullptr);
  int pieces = 0;
  sqlite3_progress_handler(
      db.getHandle(), 1000, [](void* count) { return ++*static_cast<int*>(count) > 100 ? 1 : 0; },
      &pieces);
  sqlite3_exec(db.getHandle(), std::string(sql).c_str(), nullptr, nullptr, nullptr);
  return read_file(path, 1 << 24);
}

// As main() does of what a query finds.
void read(const std::string& path, const std::function<void()>& reader) {
  accepted(ErrorKind::kDatabase, [&] {
    try {
      reader();
    } catch (const SQLite::Exception& error) {
      throw_database_error(path, error);
    }
  });
}

void render_all(const Table& table) {
  for (const char* format : {"md", "csv", "json", "jsonl", "tex"}) render(table, format);
}

using Reader = std::function<void(const std::string& path)>;

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = [] {
    static const std::string other = scratch_file("other.db", small_store());
    std::vector<Reader> made = {
        [](const std::string& path) { check_store(path); },
        [](const std::string& path) { render_all(status_table(sweep_status(Snapshot(path), ""))); },
        [](const std::string& path) { export_store(Snapshot(path), scratch_folder() + "/tables"); },
        [](const std::string& path) { Snapshot(path).items(); },
        [](const std::string& path) { RunTimes{path}; },
        [](const std::string& path) {
          render_all(report_compare(Snapshot(path), Snapshot(other), {}));
        },
        [](const std::string& path) {
          const std::string merged = scratch_folder() + "/merged.db";
          fs::remove(merged);
          merge_stores(merged, {path});
        },
        [](const std::string& path) { backup_store(path, scratch_folder() + "/backup.db"); }};
    for (const auto* report : reports()) {
      made.emplace_back([report](const std::string& path) {
        ReportOptions options;
        options.catalogue = &test_catalogue();
        try {
          render_all(report->make(Snapshot(path), options));
        } catch (const Error& error) {
          // Exact training of one length alone is sound, and no store for this report.
          if (report->name != "breakeven" || error.kind() != ErrorKind::kUsage) throw;
        }
      });
    }
    return made;
  }();
  return all;
}

Buffer file_of(Bytes rest) {
  const auto text = text_of(rest);
  if (text.starts_with("SQLite format 3")) return {rest.begin(), rest.end()};
  if (text.starts_with('\0')) return changed_store(rest.subspan(1));
  return store_after(text);
}

void write(const std::string& path, Bytes bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

void run(Bytes bytes) {
  Input input(bytes);
  const uint8_t choice = input.byte();
  const auto file = file_of(input.rest());
  const auto path = scratch_file("store.db", file);
  fs::remove(path + "-journal");
  // Sometimes with a journal beside it that is not its own.
  static const std::string victim = scratch_file("victim", to_bytes("somebody's"));
  if (choice >= 192) {
    write(path + "-journal", to_bytes(journal_naming(victim, text_of(file))));
  } else if (choice >= 128) {
    write(path + "-journal", Bytes(file).first(std::min<size_t>(file.size(), 600)));
  }
  fs::remove(scratch_folder() + "/backup.db");
  const auto& reader = readers()[choice % 64 % readers().size()];
  read(path, [&] { reader(path); });
  expect(read_file(path, 1 << 25) == file, "what is only read is not written to");
  expect(fs::exists(victim), "what is only read deletes nothing");
  expect(!fs::exists(scratch_folder() + "/outside.csv"), "tables are exported into their folder");
}

constexpr const char* kViewAndTrigger =
    "CREATE VIEW x AS SELECT * FROM run; "
    "CREATE TRIGGER t AFTER UPDATE ON run BEGIN DELETE FROM run; END;";

std::vector<Buffer> seeds() {
  std::vector<Buffer> all;
  const auto add = [&](size_t choice, std::string_view rest) {
    Buffer bytes = {static_cast<uint8_t>(choice)};
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    all.push_back(bytes);
  };
  for (size_t i = 0; i < readers().size(); ++i) add(i, std::string_view("\0\0\0\x40\0\1", 6));
  add(0, text_of(small_store()));
  add(1, "SQLite format 3");
  add(128, std::string_view("\0\0\x10\0\3\xff\0\x20\0\0\0", 11));
  for (size_t i = 0; i < readers().size(); ++i) add(192 + i, text_of(small_store()));
  for (const char* sql :
       {"UPDATE run SET state = 'nonsense';",
        "UPDATE run SET train_ns = -1, step_ns_median = 1e308;",
        "UPDATE metric SET value = 1e308, epoch = -1;",
        "UPDATE metric SET value = NULL;",
        "UPDATE metric SET train_ns = -1; UPDATE run SET train_ns = 0;",
        "UPDATE metric SET train_ns = 9223372036854775807, step = step + 9223372036854770000;",
        "UPDATE kernel_result SET ratio_lo = 5, ratio_hi = 1;",
        "UPDATE experiment SET target_value = -1e308;",
        "DELETE FROM cell;",
        "UPDATE cell SET config = '{', recipe = '[';",
        "UPDATE cell SET config = '{\"schedule\": 3}', recipe = '{\"epochs\": 1e300}';",
        "UPDATE cell SET method = 'a\n|b', schedule = x'ff', seed = -9223372036854775808;",
        "DROP TABLE metric;",
        "UPDATE timing_block SET ns = 0, steps = 0;",
        "UPDATE timing_block SET ns = 9223372036854775807, steps = 9223372036854775807;",
        "UPDATE run SET host_id = 99, environment = 'x', taint = '{}';",
        "UPDATE kernel_result SET ns = x'01', ratio = 0;",
        "UPDATE experiment SET name = 'a|b', text = 'c', report = '[';",
        kViewAndTrigger,
        "CREATE TABLE \"../outside\"(a, b); INSERT INTO \"../outside\" VALUES(1, 2);",
        "UPDATE study_run SET content = '[]', params = '3';",
        "UPDATE layer_metric SET macs_done = 9223372036854775807, density = -1;",
        "UPDATE run SET step_ns = zeroblob(16), started_utc = 'x', run_directory = '';"}) {
    for (size_t i = 0; i < readers().size(); ++i) add(i, sql);
  }
  return all;
}

}  // namespace approx::fuzz
