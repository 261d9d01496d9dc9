// How stores of earlier versions become stores of this one.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

#include "results/store/run_store.h"
#include "tests/results/store/store_test.h"

namespace approx {
namespace {

// A version of the future, to try the way there.
StoreOptions next_version(const std::string& sql = "ALTER TABLE run ADD COLUMN joules REAL") {
  StoreOptions options;
  options.migrations.push_back({options.migrations.back().version + 1, sql});
  return options;
}

TEST_F(StoreTest, AStoreOfTheFirstVersionIsBroughtUpToThisOne) {
  StoreOptions first;
  first.migrations.resize(1);
  {
    // Its views are today's, which only the newer tables can answer: they are made anew below.
    SQLite::Database db(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(first.migrations[0].sql);
    db.exec("PRAGMA user_version = 1");
    db.exec(
        "INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}');"
        "INSERT INTO build VALUES(1, 'abc', 0, 'g++', '-O3', '2', '', '');"
        "INSERT INTO kernel_run VALUES(1, 1, 1, '2026-01-01T00:00:00Z', '{}')");
  }
  RunStore store(path_, Mode::kWrite);
  EXPECT_EQ(query(path_, "SELECT experiment FROM kernel_run"), std::vector<std::string>{""});
  EXPECT_FALSE(store.has_item_results("wang2019:table1"));
  store.add_kernel_results(environment_of(), {}, "wang2019:table1");
  EXPECT_TRUE(store.has_item_results("wang2019:table1"));
}

// Its numbers stay, and what nobody asked then is not known now.
TEST_F(StoreTest, KernelResultsOfTheFourthVersionAreKept) {
  StoreOptions fourth;
  fourth.migrations.resize(4);
  {
    SQLite::Database db(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    for (const auto& migration : fourth.migrations) db.exec(migration.sql);
    db.exec("PRAGMA user_version = 4");
    db.exec(
        "INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}');"
        "INSERT INTO build VALUES(1, 'abc', 0, 'g++', '-O3', '2', '', '');"
        "INSERT INTO kernel_run VALUES(1, 1, 1, '2026-01-01T00:00:00Z', '{}', '');"
        "INSERT INTO kernel_case VALUES(1, 'forward', 'crs', 'gather', '{}', 'fp32', 1, 'cpu');"
        "INSERT INTO kernel_result(kernel_run_id, kernel_case_id, label, n, ns, baseline_n, "
        "baseline_ns, ratio, special, verdict, reason) "
        "VALUES(1, 1, 'conv1', 0, x'', 0, x'', 1.5, '{}', 'faster', '')");
  }
  { RunStore store(path_, Mode::kWrite); }
  EXPECT_EQ(query(path_,
                  "SELECT label, ratio, baseline_variant, chosen, density, ceiling_gflops, bytes, "
                  "memory_gbs FROM v_kernel"),
            std::vector<std::string>{"conv1|1.5||NULL|NULL|NULL|NULL|NULL"});
}

// A run of before keeps what it counted; which variants computed it is known of later runs alone.
TEST_F(StoreTest, RunsOfTheFifthVersionAreKeptWithoutVariants) {
  StoreOptions fifth;
  fifth.migrations.resize(5);
  {
    SQLite::Database db(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    for (const auto& migration : fifth.migrations) db.exec(migration.sql);
    db.exec("PRAGMA user_version = 5");
    db.exec(
        "INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}');"
        "INSERT INTO build VALUES(1, 'abc', 0, 'g++', '-O3', '2', '', '');"
        "INSERT INTO cell(cell_id, run_key, purpose, method, schedule, network, dataset, seed, "
        "split, train_examples, recipe, batch_size, precision, threads, device, config) "
        "VALUES(1, 'k', 'accuracy', 'zero', '[]', 'lenet', 'mnist', 0, 'paper', 0, '{}', 1, "
        "'fp32', 1, 'cpu', '{}');"
        "INSERT INTO run(run_id, cell_id, attempt, host_id, build_id, state, isolated, "
        "run_directory, started_utc, ended_utc, environment) "
        "VALUES(1, 1, 1, 1, 1, 'finished', 0, 'd', 't', 't', '{}');"
        "INSERT INTO layer_metric VALUES(1, 'conv1', 'forward', 'dense', 2, 2, 8, 8, NULL)");
  }
  { RunStore store(path_, Mode::kWrite); }
  EXPECT_EQ(query(path_, "SELECT layer, calls FROM layer_metric"),
            std::vector<std::string>{"conv1|2"});
  EXPECT_EQ(query(path_, "SELECT * FROM layer_variant"), std::vector<std::string>{});
  SQLite::Database db(path_, SQLite::OPEN_READWRITE);
  db.exec("INSERT INTO layer_variant VALUES(1, 'conv1', 'forward', 'Dense', 'libtorch', 2)");
}

// A run of before keeps what it has; what its ranks sent is not known.
TEST_F(StoreTest, RunsOfTheEighthVersionAreKeptWithoutTraffic) {
  {
    auto store = with({planned("zero", 0)});
    const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
    store.finish(*id, accuracy_events({0.5}), {});
  }
  sqlite(path_, kBackToEight);
  EXPECT_EQ(query(path_, "SELECT * FROM layer_traffic"), std::vector<std::string>{})
      << "a reader's copy has the table";
  { RunStore store(path_, Mode::kWrite); }
  EXPECT_EQ(query(path_, "SELECT accuracy FROM v_final"), std::vector<std::string>{"0.5"});
  sqlite(path_, "INSERT INTO layer_traffic VALUES(1, 'conv1', 4, 300, 600)");
  SQLite::Database backup(path_ + ".v8.backup", SQLite::OPEN_READONLY);
  EXPECT_EQ(backup.execAndGet("PRAGMA user_version").getInt(), 8);
  EXPECT_EQ(backup.execAndGet("SELECT count(*) FROM run").getInt(), 1);
  EXPECT_FALSE(backup.tableExists("layer_traffic"));
}

// Its trainings have no patience, and nothing is known to have ended them.
TEST_F(StoreTest, RunsOfTheNinthVersionAreKeptWithoutEarlyEnds) {
  {
    auto store = with({planned("zero", 0)});
    const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
    store.finish(*id, accuracy_events({0.5}), {});
  }
  sqlite(path_, std::string(kBackToNine) + "PRAGMA user_version = 9");
  { RunStore store(path_, Mode::kWrite); }
  EXPECT_EQ(query(path_, "SELECT accuracy FROM v_final"), std::vector<std::string>{"0.5"});
  EXPECT_EQ(query(path_, "SELECT c.patience, r.ended_by FROM run r JOIN cell c USING(cell_id)"),
            std::vector<std::string>{"0|"});
}

TEST_F(StoreTest, AnOlderSchemaIsCopiedThenMigrated) {
  {
    auto store = with({planned("zero", 0)});
    const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
    store.finish(*id, accuracy_events({0.5}), {});
  }
  const std::string before = file_bytes(path_);
  {
    auto snapshot = open_snapshot(path_, next_version());
    EXPECT_EQ(snapshot.execAndGet("SELECT count(joules) + count(*) FROM run").getInt(), 1);
  }
  EXPECT_TRUE(file_bytes(path_) == before) << "a reader migrates its own copy";

  auto db = open_for_writing(path_, next_version());
  EXPECT_EQ(db.execAndGet("PRAGMA user_version").getInt64(),
            next_version().migrations.back().version);
  EXPECT_EQ(db.execAndGet("SELECT count(joules) + count(*) FROM run").getInt(), 1);
  EXPECT_EQ(db.execAndGet("SELECT accuracy FROM v_final").getDouble(), 0.5);
  const auto version = std::to_string(store_migrations().back().version);
  const auto backup = fmt::format("{}.v{}.backup", path_, version);
  EXPECT_EQ(query(backup, "SELECT accuracy FROM v_final"), std::vector<std::string>{"0.5"});
  EXPECT_EQ(query(backup, "PRAGMA user_version"), std::vector<std::string>{version});
  EXPECT_NE(store_refusal(path_, Mode::kWrite).find("newer program"), std::string::npos);
}

// What another program does just as a connection begins to copy its file.
std::function<void()> rival;

int on_statement(unsigned, void*, void*, void* sql) {
  const bool copies = std::string_view(static_cast<const char*>(sql)).starts_with("VACUUM INTO");
  if (copies && rival) std::exchange(rival, nullptr)();
  return 0;
}

int watch_connection(sqlite3* db, char**, const sqlite3_api_routines*) {
  return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, on_statement, nullptr);
}

// Of two programs that migrate at once: the copy of before is the only one there is.
TEST_F(StoreTest, TheCopyOfBeforeIsNotOneOfAfter) {
  { auto store = with({planned("zero", 0)}); }
  const auto version = std::to_string(store_migrations().back().version);
  bool refused = false;
  rival = [&] {
    auto options = next_version();
    options.lock_timeout = std::chrono::milliseconds(1);
    try {
      open_for_writing(path_, options);
    } catch (const Error&) {
      refused = true;
    }
  };
  const auto watch = reinterpret_cast<void (*)()>(watch_connection);
  ASSERT_EQ(sqlite3_auto_extension(watch), SQLITE_OK);
  { open_for_writing(path_, next_version()); }
  sqlite3_cancel_auto_extension(watch);
  EXPECT_FALSE(std::exchange(rival, nullptr)) << "nothing was copied";
  EXPECT_TRUE(refused) << "it migrated under the copy";
  const auto backup = fmt::format("{}.v{}.backup", path_, version);
  EXPECT_EQ(query(backup, "PRAGMA user_version"), std::vector<std::string>{version});
  SQLite::Database copy(backup, SQLite::OPEN_READONLY);
  EXPECT_EQ(copy.execAndGet("SELECT count(*) FROM pragma_table_info('run') WHERE name = 'joules'")
                .getInt(),
            0);
  EXPECT_NE(store_refusal(path_, Mode::kWrite).find("newer program"), std::string::npos);
}

TEST_F(StoreTest, AMigrationThatFailsChangesNothing) {
  { auto store = with({planned("zero", 0)}); }
  const std::string before = file_bytes(path_);
  const auto broken = next_version("ALTER TABLE run ADD COLUMN joules REAL; SELECT nonsense");
  EXPECT_NE(store_refusal(path_, Mode::kWrite, broken).find("nonsense"), std::string::npos);
  EXPECT_TRUE(file_bytes(path_) == before);
  const auto dangling = next_version(
      "CREATE TABLE extra(run_id INTEGER REFERENCES run) STRICT; "
      "PRAGMA defer_foreign_keys = ON; INSERT INTO extra VALUES(99)");
  EXPECT_NE(
      store_refusal(path_, Mode::kWrite, dangling).find("would break a reference in table extra"),
      std::string::npos);
  EXPECT_TRUE(file_bytes(path_) == before);
  RunStore store(path_, Mode::kWrite);
  EXPECT_GT(store.status("accuracy/zero/0").cell_id, 0);
}

TEST_F(StoreTest, ANewFileOfTheNextVersionHasAllOfIt) {
  auto db = open_for_writing(path_, next_version());
  EXPECT_EQ(db.execAndGet("PRAGMA user_version").getInt64(),
            next_version().migrations.back().version);
  EXPECT_EQ(db.execAndGet("SELECT count(joules) FROM run").getInt(), 0);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".v0.backup"));
}

}  // namespace
}  // namespace approx
