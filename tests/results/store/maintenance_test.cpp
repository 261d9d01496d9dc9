#include "results/store/maintenance.h"

#include <gtest/gtest.h>

#include <map>

#include "results/reports/export.h"
#include "results/store/database.h"
#include "tests/results/filled_store.h"

namespace approx {
namespace {

class MaintenanceTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";

  void run(RunStore& store, const std::string& key, std::vector<Json> events) {
    const auto id = store.begin(key, environment_of(), folder_ / "runs");
    ASSERT_TRUE(id);
    store.finish(*id, events, {});
  }

  // Two seeds of two methods, and a timing run.
  void fill() {
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(
        experiment_of({planned("dense", 0), planned("dense", 1), planned("zero", 0),
                       planned("zero", 1), planned("zero", 0, Purpose::kTiming)}),
        "sweep");
    run(store, "accuracy/dense/0", accuracy_events({0.5, 0.75}));
    run(store, "accuracy/dense/1", accuracy_events({0.51, 0.76}));
    run(store, "accuracy/zero/0", accuracy_events({0.4, 0.70}));
    run(store, "accuracy/zero/1", accuracy_events({0.41, 0.71}));
    run(store, "timing/zero/0",
        {block_event(0, "dense", 10, 2000), block_event(0, "approx", 10, 1000), final_event(1)});
  }

  // Adds a target of both exact runs, whose best accuracies are 0.75 and 0.76. `numbers`: what it
  // says of the first, the median, the target, the margin in points and the number of runs.
  static std::string stored_target(const std::string& numbers) {
    const auto group = numbers.substr(numbers.find(','));
    const auto line = [](int seed, const std::string& rest) {
      return fmt::format(
          "json_array('LeNet', 'mnist', '', {0}, 'accuracy/dense/{0}', (SELECT started_utc FROM "
          "run "
          "WHERE run_id = {0} + 1), 'abc123', {1})",
          seed, rest);
    };
    return fmt::format(
        "INSERT INTO study_run(experiment, name, params, methods, host_id, build_id, started_utc, "
        "environment, content, uid) SELECT '', 'target', '{{}}', '[]', host_id, build_id, "
        "started_utc, '{{}}', json_object('rows', json_array({}, {})), 'one' FROM run "
        "WHERE run_id = 1",
        line(0, numbers), line(1, "0.76" + group));
  }

  // Breaks the store by hand, past all checks of the schema.
  void damage(const std::string& sql) {
    SQLite::Database db(path_, SQLite::OPEN_READWRITE);
    db.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
    db.exec(sql);
  }
};

TEST_F(MaintenanceTest, AGoodStoreHasNothingToSay) {
  fill();
  EXPECT_EQ(check_store(path_), std::vector<std::string>());
  EXPECT_GE(check_rules().size(), 12u);
}

// The partner of a seed that a flag chose may come with another sweep.
TEST_F(MaintenanceTest, ASweepOfChosenRunsMayLackPartners) {
  fill();
  damage("UPDATE experiment_cell SET seed = 7 WHERE cell_id = 4");
  for (const char* flag : {"--seeds 7", "--method zero", "--only seed=7", "--skip dense"}) {
    damage(fmt::format("UPDATE experiment SET command_line = 'approxtrain sweep a.toml {}'", flag));
    EXPECT_EQ(check_store(path_), std::vector<std::string>()) << flag;
  }
  for (const char* whole : {"approxtrain sweep a.toml", "approxtrain sweep a.toml --jobs 2",
                            "approxtrain sweep skip--seeds.toml"}) {
    damage(fmt::format("UPDATE experiment SET command_line = '{}'", whole));
    EXPECT_EQ(check_store(path_),
              std::vector<std::string>{"seeds have a partner: cell 4: zero has seed 7, which its "
                                       "experiment gives to no exact training"})
        << whole;
  }
}

TEST_F(MaintenanceTest, ATargetThatFollowsFromItsRunsIsFine) {
  fill();
  damage(stored_target("0.75, 0.755, 0.75, 0.5, 2"));
  EXPECT_EQ(check_store(path_), std::vector<std::string>());
}

// A short run may have 30 ms, a long one 1 % that no part says; of earlier runs parts are missing.
TEST_F(MaintenanceTest, PartsMayMissALittleOfTheWhole) {
  fill();
  damage(
      "UPDATE run SET train_ns = 100 * 1000000, start_ns = 0, aside_ns = 0, eval_ns = 0, "
      "warmup_ns = 0, wall_ns = 129 * 1000000 WHERE run_id = 1; "
      "UPDATE run SET train_ns = 991 * 10000000, start_ns = 0, aside_ns = 0, eval_ns = 0, "
      "warmup_ns = 0, wall_ns = 1000 * 10000000 WHERE run_id = 2; "
      "UPDATE run SET wall_ns = 2 * wall_ns WHERE run_id = 3");
  EXPECT_EQ(check_store(path_), std::vector<std::string>());
  damage(
      "UPDATE run SET wall_ns = wall_ns + 2000000 WHERE run_id = 1; "
      "UPDATE run SET train_ns = 989 * 10000000 WHERE run_id = 2");
  EXPECT_EQ(
      check_store(path_),
      (std::vector<std::string>{"parts make up the whole: run 1: of 0.131 s its parts are 0.1 s",
                                "parts make up the whole: run 2: of 10.0 s its parts are 9.89 s"}));
}

TEST_F(MaintenanceTest, AnEmptyStoreIsFine) {
  { RunStore store(path_, RunStore::Mode::kWrite); }
  EXPECT_EQ(check_store(path_), std::vector<std::string>());
  EXPECT_THROW(check_store(folder_ / "none.db"), Error);
}

TEST_F(MaintenanceTest, EachRuleIsBrokenByWhatItForbids) {
  const std::vector<std::pair<std::string, std::string>> damages = {
      {"references", "UPDATE run SET host_id = 99 WHERE run_id = 1"},
      {"one running attempt",
       "DROP INDEX one_running; UPDATE run SET state = 'running', ended_utc = NULL; "
       "UPDATE run SET cell_id = 1, attempt = run_id"},
      {"one end", "UPDATE run SET ended_utc = NULL WHERE run_id = 1"},
      {"attempts in order", "UPDATE run SET attempt = 3 WHERE run_id = 1"},
      {"finished runs have totals", "UPDATE run SET train_ns = NULL WHERE run_id = 1"},
      {"finished runs have an accuracy", "DELETE FROM metric WHERE run_id = 1"},
      {"steps and times grow together",
       "UPDATE metric SET train_ns = 1 WHERE run_id = 1 AND step = 1200"},
      {"one grid of evaluations", "UPDATE metric SET step = 601 WHERE run_id = 1 AND step = 600"},
      {"parts do not exceed the whole", "UPDATE run SET wall_ns = 1000 WHERE run_id = 1"},
      {"parts do not exceed the whole",
       "UPDATE run SET start_ns = wall_ns / 2, aside_ns = 0 WHERE run_id = 1"},
      {"parts make up the whole",
       "UPDATE run SET start_ns = 0, aside_ns = 0, wall_ns = wall_ns + wall_ns / 50 "
       "WHERE run_id = 1"},
      {"no negative time", "UPDATE run SET eval_ns = -1 WHERE run_id = 1"},
      {"no negative time", "UPDATE run SET aside_ns = -1 WHERE run_id = 1"},
      {"builds are known", "UPDATE build SET git_sha = 'unknown'"},
      {"data are known", "UPDATE run SET dataset_id = NULL WHERE run_id = 1"},
      {"data are the same inside a comparison",
       "INSERT INTO dataset VALUES(2, 'mnist', 'full', 'beef', 1, 1, 0); "
       "UPDATE run SET dataset_id = 2 WHERE run_id = 1"},
      {"data are those that were asked for", "UPDATE dataset SET name = 'other'"},
      {"valid timings were alone", "UPDATE run SET timing_valid = 1 WHERE run_id = 1"},
      {"valid timings were alone", "UPDATE run SET taint = '[\"load\"]' WHERE run_id = 5"},
      {"a time for each step", "UPDATE run SET steps = 9 WHERE run_id = 1"},
      {"blocks come in pairs", "DELETE FROM timing_block WHERE arm = 'dense'"},
      {"what is not a number is marked",
       "UPDATE metric SET value = NULL WHERE run_id = 1 AND step = 600"},
      {"what is not a number is marked",
       "UPDATE metric SET value = 9e999 WHERE run_id = 1 AND step = 600"},
      {"accuracies are shares", "UPDATE metric SET value = 75 WHERE run_id = 1 AND step = 600"},
      {"layers add up",
       "INSERT INTO layer_metric VALUES(1, 'c', 'forward', 'dense', 1, 2, 0, 0, NULL)"},
      {"variants computed what was counted",
       "INSERT INTO layer_variant VALUES(1, 'c', 'forward', 'Dense', 'libtorch', 3)"},
      {"bytes that ranks sent are possible", "INSERT INTO layer_traffic VALUES(1, 'c', 1, 1, 1)"},
      {"ranks sent of each layer",
       "INSERT INTO layer_traffic VALUES(1, 'c', 1, 1, 1); "
       "INSERT INTO layer_metric VALUES(1, 'd', 'forward', 'dense', 1, 1, 0, 0, NULL)"},
      {"seeds have a partner", "UPDATE experiment_cell SET seed = 7 WHERE cell_id = 4"},
      {"targets to stop at have an origin", "UPDATE cell SET stop_at = 0.7 WHERE cell_id = 1"},
      {"derived targets follow from their runs", stored_target("0.74, 0.755, 0.75, 0.5, 2")},
      {"derived targets follow from their runs", stored_target("0.75, 0.77, 0.765, 0.5, 2")},
      {"derived targets follow from their runs", stored_target("0.75, 0.755, 0.76, 0.5, 2")},
      {"derived targets follow from their runs", stored_target("0.75, 0.755, 0.75, 0.5, 3")},
      {"derived targets follow from their runs", stored_target("0.75, 0.755, 0.75, 0.5, NULL")},
      {"what ended early is marked",
       "UPDATE cell SET recipe = json_set(recipe, '$.epochs', 9) WHERE cell_id = 1"},
      {"what ended early is marked",
       "UPDATE cell SET recipe = json_set(recipe, '$.epochs', 9), stop_at = 0.9 WHERE cell_id = 1"},
      {"what ended early is marked", "UPDATE run SET state = 'timeout' WHERE run_id = 1"},
      {"early ends have a cause", "UPDATE run SET ended_by = 'target' WHERE run_id = 1"},
      {"early ends have a cause", "UPDATE run SET ended_by = 'patience' WHERE run_id = 1"},
      {"early ends have a cause",
       "UPDATE cell SET patience = 1; UPDATE run SET ended_by = 'patience' WHERE run_id = 1"},
      {"early ends have a cause",
       "UPDATE cell SET stop_at = 0.8; UPDATE run SET ended_by = 'target' WHERE run_id = 1"},
      {"numbers of papers are defined",
       "UPDATE experiment SET report = '{\"value\":{\"unit\":\"%\",\"paper\":[[1]]}}'"},
      {"numbers of papers are defined",
       "UPDATE experiment SET report = '{\"value\":[{\"quantity\":\"accuracy\",\"unit\":\"%\","
       "\"basis\":\"guessed\",\"paper\":[[1]]}]}'"},
      {"numbers of papers are defined",
       "UPDATE experiment SET report = '{\"value\":{\"quantity\":\"accuracy\"},\"paper\":[[1]]}'"},
      {"cells belong to an experiment", "DELETE FROM experiment_cell WHERE cell_id = 1"},
      {"views agree with tables",
       "DROP VIEW v_final; CREATE VIEW v_final AS SELECT *, 0 AS run_id, 0 AS dataset_id "
       "FROM v_cell LIMIT 1"},
      {"JSON is valid", "UPDATE cell SET config = '{' WHERE cell_id = 1"},
      {"running rows have a process",
       "UPDATE run SET state = 'running', ended_utc = NULL WHERE run_id = 1"},
  };
  for (const auto& [rule, sql] : damages) {
    std::filesystem::remove(path_);
    fill();
    damage(sql);
    const auto violations = check_store(path_);
    const bool found =
        std::any_of(violations.begin(), violations.end(), [broken = rule + ": "](const auto& line) {
          return line.starts_with(broken) && line.find('\n') == std::string::npos;
        });
    EXPECT_TRUE(found) << rule << " after " << sql
                       << "\nfound: " << fmt::format("{}", fmt::join(violations, "\n"));
  }
}

// By four ranks, of which each sends 600 bytes for the sums of a layer in four steps.
TEST_F(MaintenanceTest, BytesThatNoRanksCouldSend) {
  const auto cell = of_ranks(4, planned("zero", 0));
  {
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(experiment_of({cell}), "sweep");
    auto events = accuracy_events({0.5});
    events.push_back({{"event", "layer"},
                      {"layer", "conv1"},
                      {"product", "forward"},
                      {"method", "zero"},
                      {"calls", 4},
                      {"exact_calls", 0},
                      {"macs_dense", 8},
                      {"macs_done", 4},
                      {"density", nullptr}});
    events.push_back(traffic_event("conv1", 4, 300, 600));
    events.push_back(traffic_event("bn1", 0, 0, 0));  // frozen all the while
    events.push_back(traffic_event("", 4, 80, 80));
    run(store, cell.key, events);
  }
  EXPECT_EQ(check_store(path_), std::vector<std::string>());
  const std::string sound = file_bytes(path_);
  const auto found = [&](const std::string& change) {
    std::ofstream(path_, std::ios::binary) << sound;
    damage("UPDATE layer_traffic SET " + change);
    return check_store(path_);
  };
  // Values and their positions may be more than the sum of everything.
  EXPECT_EQ(found("bytes = 4800 WHERE layer = 'conv1'"), std::vector<std::string>());
  EXPECT_EQ(found("bytes = 99999 WHERE layer = ''"), std::vector<std::string>())
      << "what a method asks of other ranks is of no layer";
  const std::string rule = "bytes that ranks sent are possible: run 1: ";
  EXPECT_EQ(found("bytes = 4801 WHERE layer = 'conv1'"),
            std::vector<std::string>{rule + "layer conv1: 4801 bytes by each of 4 ranks in 4 "
                                            "steps, 600 in exact training"});
  EXPECT_EQ(found("bytes = -1 WHERE layer = ''"),
            std::vector<std::string>{rule + "what goes along: -1 bytes by each of 4 ranks in 4 "
                                            "steps, 80 in exact training"});
  for (const char* change :
       {"calls = -1 WHERE layer = 'conv1'", "bytes_dense = -1 WHERE layer = ''",
        "calls = 0 WHERE layer = 'conv1'", "calls = 5 WHERE layer = 'conv1'",
        "bytes_dense = 0 WHERE layer = 'conv1'", "calls = 1 WHERE layer = 'bn1'"}) {
    const auto violations = found(change);
    ASSERT_EQ(violations.size(), 1U) << change;
    EXPECT_TRUE(violations[0].starts_with(rule)) << change << ": " << violations[0];
  }
  EXPECT_EQ(found("layer = 'conv2' WHERE layer = 'conv1'"),
            std::vector<std::string>{"ranks sent of each layer: run 1 does not say what its ranks "
                                     "sent of layer conv1"});
}

TEST_F(MaintenanceTest, SeedsWithTheSameCurvesAreSuspicious) {
  {
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(experiment_of({planned("dense", 0), planned("dense", 1)}), "sweep");
    run(store, "accuracy/dense/0", accuracy_events({0.5, 0.75, 0.8}));
    run(store, "accuracy/dense/1", accuracy_events({0.5, 0.75, 0.8}));
  }
  EXPECT_EQ(check_store(path_),
            std::vector<std::string>{
                "seeds differ: runs 1 and 2 have different seeds and the same curves"});
}

TEST_F(MaintenanceTest, ABackupIsTheSameStore) {
  fill();
  backup_store(path_, folder_ / "copy.db");
  EXPECT_EQ(check_store(folder_ / "copy.db"), std::vector<std::string>());
  RunStore copy(folder_ / "copy.db", RunStore::Mode::kWrite);
  EXPECT_EQ(copy.status("accuracy/zero/1").state, RunState::kFinished);
  EXPECT_THROW(backup_store(path_, folder_ / "copy.db"), Error) << "replaces nothing";
  EXPECT_THROW(backup_store(path_, folder_ / "none/copy.db"), Error);
}

TEST_F(MaintenanceTest, AMigrationWaitsForAnotherProgramsLock) {
  fill();
  damage(kBackToEight);
  SQLite::Database holder(path_, SQLite::OPEN_READWRITE);
  holder.exec("BEGIN EXCLUSIVE");
  int waits = 0;
  StoreOptions options;
  options.pause = [&](std::chrono::milliseconds) {
    if (++waits == 1) holder.exec("ROLLBACK");
  };
  const auto change = migrate_store(path_, options);
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(change.from, 8);
  EXPECT_EQ(change.to, store_migrations().back().version);
}

// The journal of a program that was killed in a transaction lies beside the file.
TEST_F(MaintenanceTest, AMigrationTakesBackWhatWasLeftHalfDone) {
  fill();
  damage(kBackToEight);
  const std::string killed = folder_ / "killed.db";
  {
    SQLite::Database db(path_, SQLite::OPEN_READWRITE);
    db.exec(
        "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE run SET error = 'half done'; "
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999) INSERT INTO "
        "layer_metric SELECT 1, i, 'forward', 'zero', 1, 1, 1, 1, NULL FROM n");  // fills the cache
    std::filesystem::copy(path_, killed);
    std::filesystem::copy(path_ + "-journal", killed + "-journal");
  }
  EXPECT_EQ(migrate_store(killed).from, 8);
  EXPECT_EQ(query(killed, "SELECT count(*) FROM run WHERE error <> ''"),
            std::vector<std::string>{"0"});
}

TEST_F(MaintenanceTest, AnExportHasEveryTable) {
  fill();
  const auto paths = export_store(Snapshot(path_), folder_ / "csv");
  EXPECT_EQ(paths.size(), 16u);
  EXPECT_EQ(file_bytes(folder_ / "csv/timing_block.csv"),
            "run_id,pair,arm,block_order,steps,ns,core_share,repeats,clock_mhz,slowed_by\n"
            "5,0,approx,1,10,1000,,0,,\n"
            "5,0,dense,0,10,2000,,0,,\n");
  std::ofstream(folder_ / "file") << "x";
  EXPECT_THROW(export_store(Snapshot(path_), folder_ / "file"), Error);
}

// The name of a table would be that of a file, anywhere.
TEST_F(MaintenanceTest, NothingIsExportedOutsideTheFolder) {
  for (const char* name : {"../outside", "a/b", "", "a\nb"}) {
    const std::string db = folder_ / "hostile.db";
    std::filesystem::remove(db);
    { const RunStore made(db, RunStore::Mode::kWrite); }
    SQLite::Database(db, SQLite::OPEN_READWRITE).exec(fmt::format("CREATE TABLE \"{}\"(a)", name));
    EXPECT_THROW(export_store(Snapshot(db), folder_ / "made"), Error) << name;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "outside.csv"));
  }
}

TEST_F(MaintenanceTest, TheSchemaMakesADatabase) {
  {
    SQLite::Database db(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(schema_text());
    EXPECT_EQ(db.execAndGet("SELECT count(*) FROM v_paired").getInt(), 0);
    EXPECT_EQ(db.execAndGet("PRAGMA user_version").getInt(), store_migrations().back().version);
  }
  const RunStore store(path_, RunStore::Mode::kWrite);  // a store like any other
  EXPECT_EQ(check_store(path_), std::vector<std::string>());
}

// Scripts rely on these names. A column that goes or gets another meaning breaks them: do not
// change a line, only add columns at its end, together with a new version of the schema.
TEST_F(MaintenanceTest, TheViewsOfASchemaHaveTheseColumns) {
  const std::string cell =
      "cell_id run_key purpose method schedule network dataset seed split train_examples recipe "
      "batch_size precision threads device train_subset stop_at";  // v_cell has more
  const std::map<std::string, std::string> columns = {
      {"v_cell", cell + " patience"},
      {"v_final", cell + " run_id host_id build_id dataset_id accuracy step epoch train_ns eval_ns "
                         "wall_ns step_ns_median peak_rss_bytes"},
      {"v_paired",
       "method schedule network dataset split train_examples recipe batch_size precision "
       "threads device host_id purpose seed run_id dense_run_id accuracy dense_accuracy "
       "accuracy_loss speedup"},
      {"v_timing", cell + " run_id host_id build_id timing_valid taint pair dense_steps dense_ns "
                          "approx_steps approx_ns speedup core_share dense_clock_mhz "
                          "approx_clock_mhz dense_slowed_by approx_slowed_by"},
      {"v_kernel",
       "kernel_run_id kernel_case_id experiment started_utc host_id build_id op method "
       "variant shape label precision threads device n ns_median ns_q1 ns_q3 "
       "baseline_ns_median ratio ratio_lo ratio_hi gflops dense_flops flops plan_ns "
       "max_abs_error max_rel_error special verdict reason baseline_variant chosen "
       "density ceiling_gflops bytes memory_gbs clock_mhz baseline_clock_mhz held_back"},
      {"v_study",
       "study_run_id experiment name params methods host_id build_id started_utc content"},
  };
  EXPECT_EQ(store_migrations().back().version, 10);
  { const RunStore store(path_, RunStore::Mode::kWrite); }
  std::map<std::string, std::string> found;
  SQLite::Database db(path_, SQLite::OPEN_READONLY);
  for_each_row(db,
               "SELECT v.name, group_concat(c.name, ' ') FROM sqlite_master v, "
               "pragma_table_info(v.name) c WHERE v.type = 'view' GROUP BY v.name",
               [&](SQLite::Statement& row) {
                 found[row.getColumn(0).getString()] = row.getColumn(1).getString();
               });
  EXPECT_EQ(found, columns);
}

}  // namespace
}  // namespace approx
