#include "results/store/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "results/store/maintenance.h"
#include "tests/results/store_content.h"

namespace approx {
namespace {

using Mode = RunStore::Mode;

class Merge : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }

  // A store of some machine in which cells were run, each with these accuracies.
  void run(const std::string& name, const std::vector<PlannedRun>& cells, double accuracy,
           const std::string& host, const std::string& text = "# nothing") const {
    RunStore store(at(name), Mode::kWrite);
    Experiment experiment = experiment_of(cells);
    experiment.text = text;
    store.add_experiment(experiment, "sweep");
    for (const auto& cell : cells) {
      attempt(store, cell, RunState::kFailed, {}, host, name);
      attempt(store, cell, RunState::kFinished, accuracy_events({accuracy, accuracy / 2}), host,
              name);
    }
  }

  void attempt(RunStore& store, const PlannedRun& cell, RunState state,
               const std::vector<Json>& events, const std::string& host,
               const std::string& name) const {
    const auto seen = store.status(cell.key).attempts;
    const auto run_id = store.begin(cell.key, environment_of(host),
                                    at(fmt::format("{}.runs/{}-{}", name, cell.key, seen)), seen);
    ASSERT_TRUE(run_id.has_value());
    RunEnd end;
    end.state = state;
    if (state == RunState::kFailed) end.error = "lost its way";
    store.finish(*run_id, events, end);
  }

  // One run as three copies of its store have it: where it ran, it finished; the two others were
  // taken meanwhile, and to one its process is gone, to the other it failed. What data it reads a
  // worker says when it has begun.
  void tell_three_ends() const {
    const auto run = planned("zero", 0);
    RunStore store(at("finished.db"), Mode::kWrite);
    store.add_experiment(experiment_of({run}), "sweep");
    const Json known = {{"engine", environment_of()["engine"]}};
    const auto id = store.begin(run.key, known, at("finished.runs/zero-0"));
    ASSERT_TRUE(id.has_value());
    backup_store(at("finished.db"), at("lost.db"));
    change("lost.db", "UPDATE run SET run_directory = '/nowhere/zero-0'");
    ASSERT_EQ(RunStore(at("lost.db"), Mode::kWrite).recover(), 1);
    std::filesystem::copy(at("lost.db"), at("failed.db"));
    change("failed.db", "UPDATE run SET state = 'failed', error = 'lost its way'");
    auto events = accuracy_events({0.5});
    events.insert(events.begin(), environment_of());
    store.finish(*id, events, {});
  }

  void change(const std::string& name, const std::string& sql) const {
    SQLite::Database(at(name), SQLite::OPEN_READWRITE).exec(sql);
  }

  const TemporaryFolder folder_;
};

TEST_F(Merge, WhatSeveralMachinesComputedIsInOneStore) {
  run("a.db", {planned("dense", 0), planned("zero", 0)}, 0.9, "one");
  run("b.db", {planned("zero", 1)}, 0.8, "two");
  {
    RunStore store(at("b.db"), Mode::kWrite);
    Json row = {{"op", "forward"},      {"method", "crs"}, {"variant", "gather"}, {"shape", {}},
                {"precision", "fp32"},  {"threads", 1},    {"device", "cpu"},     {"ns", {100}},
                {"baseline_ns", {200}}, {"ratio", 2.0},    {"verdict", "faster"}};
    store.add_kernel_results(environment_of("two"), {row});
    store.add_study(environment_of("two"), {.experiment = "", .name = "s", .content = {}});
  }
  const auto counts = merge_stores(at("all.db"), {at("a.db"), at("b.db")});
  EXPECT_EQ(counts.added, 4 + 2 + 1 + 1);
  EXPECT_EQ(counts.present, 0);
  EXPECT_EQ(counts.running, 0);
  EXPECT_EQ(query(at("all.db"),
                  "SELECT method, seed, attempt, state, hostname FROM run JOIN cell USING(cell_id) "
                  "JOIN host USING(host_id) ORDER BY 1, 2, 3"),
            (std::vector<std::string>{"dense|0|1|failed|one", "dense|0|2|finished|one",
                                      "zero|0|1|failed|one", "zero|0|2|finished|one",
                                      "zero|1|1|failed|two", "zero|1|2|finished|two"}));
  EXPECT_EQ(query(at("all.db"), "SELECT method, seed, accuracy FROM v_final ORDER BY 1, 2"),
            (std::vector<std::string>{"dense|0|0.45", "zero|0|0.45", "zero|1|0.4"}));
  EXPECT_EQ(query(at("all.db"), "SELECT ratio, verdict FROM v_kernel"),
            std::vector<std::string>{"2.0|faster"});
  EXPECT_EQ(query(at("all.db"), "SELECT count(*) FROM v_study"), std::vector<std::string>{"1"});
  EXPECT_EQ(check_store(at("all.db")),
            std::vector<std::string>{"seeds have a partner: cell 1: zero has seed 1, which its "
                                     "experiment gives to no exact training"});
}

// Attempts at one cell on two machines are counted in the order in which they began.
TEST_F(Merge, AttemptsOfOneCellAreKept) {
  run("a.db", {planned("zero", 0)}, 0.9, "one");
  run("b.db", {planned("zero", 0)}, 0.8, "two");
  merge_stores(at("all.db"), {at("b.db"), at("a.db")});
  EXPECT_EQ(query(at("all.db"),
                  "SELECT attempt, state, hostname FROM run JOIN host USING(host_id) ORDER BY 1"),
            (std::vector<std::string>{"1|failed|one", "2|finished|one", "3|failed|two",
                                      "4|finished|two"}));
  EXPECT_EQ(query(at("all.db"), "SELECT accuracy FROM v_final"), std::vector<std::string>{"0.4"});
  EXPECT_EQ(check_store(at("all.db")), std::vector<std::string>{});
}

TEST_F(Merge, TheOrderIsOfNoConsequence) {
  run("a.db", {planned("dense", 0), planned("zero", 0)}, 0.9, "one");
  run("b.db", {planned("zero", 0), planned("zero", 1)}, 0.8, "two", "# other");
  run("c.db", {planned("random", 1), planned("dense", 0)}, 0.7, "one");
  merge_stores(at("abc.db"), {at("a.db"), at("b.db"), at("c.db")});
  const auto wanted = content_of(at("abc.db"));
  merge_stores(at("cba.db"), {at("c.db"), at("b.db"), at("a.db")});
  EXPECT_EQ(content_of(at("cba.db")), wanted);
  // Two of them first, then the third into them, or they into it.
  merge_stores(at("ab.db"), {at("a.db"), at("b.db")});
  merge_stores(at("bc.db"), {at("c.db"), at("b.db")});
  merge_stores(at("ab.db"), {at("c.db")});
  merge_stores(at("a.db"), {at("bc.db")});
  EXPECT_EQ(content_of(at("ab.db")), wanted);
  EXPECT_EQ(content_of(at("a.db")), wanted);
}

// What ranks sent belongs to its run wherever that goes.
TEST_F(Merge, WhatRanksSentIsThereInAnyOrder) {
  int64_t bytes = 100;
  for (const char* name : {"a.db", "b.db", "c.db"}) {
    RunStore store(at(name), Mode::kWrite);
    const std::vector<PlannedRun> cells = {of_ranks(2, planned("zero", 0)),
                                           of_ranks(4, planned("zero", bytes))};
    store.add_experiment(experiment_of(cells), "sweep");
    for (const auto& cell : cells) {
      auto events = accuracy_events({0.5 + 0.001 * static_cast<double>(bytes)});
      events.push_back(traffic_event("conv1", 4, bytes++, 600));
      events.push_back(traffic_event("", 4, bytes++, 80));
      attempt(store, cell, RunState::kFinished, events, name, name);
    }
  }
  const std::string sent =
      "SELECT c.seed, r.attempt, t.layer, t.bytes FROM layer_traffic t JOIN run r USING(run_id) "
      "JOIN cell c USING(cell_id) ORDER BY 1, 2, 3";
  std::vector<std::string> order = {"a.db", "b.db", "c.db"};
  std::string wanted;
  do {
    const std::string all = at(fmt::format("{}{}{}", order[0], order[1], order[2]));
    merge_stores(all, {at(order[0]), at(order[1])});
    merge_stores(all, {at(order[2])});
    merge_stores(all, {at(order[1])});
    EXPECT_EQ(query(all, sent),
              (std::vector<std::string>{"0|1||101", "0|1|conv1|100", "0|2||105", "0|2|conv1|104",
                                        "0|3||109", "0|3|conv1|108", "100|1||103",
                                        "100|1|conv1|102", "104|1||107", "104|1|conv1|106",
                                        "108|1||111", "108|1|conv1|110"}));
    EXPECT_EQ(check_store(all), std::vector<std::string>{});
    if (wanted.empty()) wanted = content_of(all);
    EXPECT_EQ(content_of(all), wanted);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(Merge, TwiceIsOnce) {
  run("a.db", {planned("zero", 0)}, 0.9, "one");
  run("b.db", {planned("zero", 1)}, 0.9, "one");
  merge_stores(at("all.db"), {at("a.db"), at("b.db")});
  const auto wanted = content_of(at("all.db"));
  const auto counts = merge_stores(at("all.db"), {at("b.db"), at("all.db")});
  EXPECT_EQ(counts.added, 0);
  EXPECT_EQ(counts.present, 4);
  EXPECT_EQ(content_of(at("all.db")), wanted);
}

// The one that was recorded last; nobody's cells are lost.
TEST_F(Merge, OfAnExperimentTheLaterTextStays) {
  run("a.db", {planned("zero", 0)}, 0.9, "one", "# early");
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // times are kept in seconds
  run("b.db", {planned("zero", 1)}, 0.9, "two", "# late");
  for (const auto& order : {std::vector{"a.db", "b.db"}, std::vector{"b.db", "a.db"}}) {
    const std::string all = at(fmt::format("{}{}", order[0], order[1]));
    merge_stores(all, {at(order[0]), at(order[1])});
    EXPECT_EQ(query(all, "SELECT text FROM experiment"), std::vector<std::string>{"# late"});
    EXPECT_EQ(query(all, "SELECT seed FROM experiment_cell ORDER BY 1"),
              (std::vector<std::string>{"0", "1"}));
  }
}

// Here the first text is recorded once more, changed, after the other machine recorded it.
TEST_F(Merge, OfAnExperimentTheTextThatChangedLastStays) {
  run("a.db", {planned("zero", 0)}, 0.9, "one", "# early");
  change("a.db", "UPDATE experiment SET created_utc = '2026-01-01T00:00:00Z'");
  run("b.db", {planned("zero", 0)}, 0.9, "two", "# early");
  change("b.db", "UPDATE experiment SET created_utc = '2026-01-02T00:00:00Z'");
  run("a.db", {planned("zero", 1)}, 0.9, "one", "# late");
  for (const auto& order : {std::vector{"a.db", "b.db"}, std::vector{"b.db", "a.db"}}) {
    const std::string all = at(fmt::format("{}{}", order[0], order[1]));
    merge_stores(all, {at(order[0]), at(order[1])});
    EXPECT_EQ(query(all, "SELECT text FROM experiment"), std::vector<std::string>{"# late"});
  }
}

const std::string kEnds =
    "SELECT r.attempt, r.state, m.value FROM run r LEFT JOIN metric m USING(run_id) ORDER BY 1";

TEST_F(Merge, AResultIsNotReplacedByALostAttempt) {
  tell_three_ends();
  const auto counts = merge_stores(at("finished.db"), {at("lost.db")});
  EXPECT_EQ(counts.added, 0);
  EXPECT_EQ(counts.present, 1);
  EXPECT_EQ(query(at("finished.db"), kEnds), std::vector<std::string>{"1|finished|0.5"});
  EXPECT_EQ(query(at("finished.db"), "SELECT accuracy FROM v_final"),
            std::vector<std::string>{"0.5"});
}

// A sweep goes by the last attempt: a result from elsewhere is one, whenever it was made.
TEST_F(Merge, AnInterruptedAttemptAsksForNothingThatAnotherMachineHas) {
  const auto cell = planned("zero", 0);
  const auto ended = [&](const char* name, RunState state) {
    RunStore store(at(name), Mode::kWrite);
    store.add_experiment(experiment_of({cell}), "sweep");
    attempt(store, cell, state, is_result(state) ? accuracy_events({0.5}) : std::vector<Json>(),
            name, name);
  };
  ended("there.db", RunState::kFinished);
  ended("here.db", RunState::kInterrupted);
  merge_stores(at("here.db"), {at("there.db")});
  RunStore here(at("here.db"), Mode::kRead);
  EXPECT_EQ(here.status(cell.key).state, RunState::kFinished);
  EXPECT_EQ(here.status(cell.key).attempts, 2);
  EXPECT_EQ(check_store(at("here.db")), std::vector<std::string>{});
}

TEST_F(Merge, ALostAttemptIsReplacedByItsResult) {
  tell_three_ends();
  auto counts = merge_stores(at("lost.db"), {at("finished.db")});
  EXPECT_EQ(counts.added, 1);
  EXPECT_EQ(counts.present, 0);
  EXPECT_EQ(query(at("lost.db"), kEnds), std::vector<std::string>{"1|finished|0.5"});
  EXPECT_EQ(check_store(at("lost.db")), std::vector<std::string>{});
  counts = merge_stores(at("lost.db"), {at("finished.db")});
  EXPECT_EQ(counts.added, 0);
  EXPECT_EQ(counts.present, 1);
}

TEST_F(Merge, OfSeveralEndsOfARunTheResultStaysInAnyOrder) {
  tell_three_ends();
  std::vector<std::string> order = {"failed.db", "finished.db", "lost.db"};
  std::string wanted;
  do {
    const std::string all = at(fmt::format("{}{}{}", order[0], order[1], order[2]));
    merge_stores(all, {at(order[0])});
    merge_stores(all, {at(order[1])});
    if (order[2] == "finished.db") {
      EXPECT_EQ(query(all, kEnds), std::vector<std::string>{"1|failed|NULL"}) << all;
    }
    merge_stores(all, {at(order[2])});
    EXPECT_EQ(query(all, kEnds), std::vector<std::string>{"1|finished|0.5"}) << all;
    if (wanted.empty()) wanted = content_of(all);
    EXPECT_EQ(content_of(all), wanted) << all;
    // Two of them first, then they into the third.
    const std::string two = all + "-two.db", third = all + "-third.db";
    merge_stores(two, {at(order[0]), at(order[1])});
    std::filesystem::copy(at(order[2]), third);
    merge_stores(third, {two});
    EXPECT_EQ(content_of(third), wanted) << all;
  } while (std::next_permutation(order.begin(), order.end()));
}

// Which of two equal ends stays is no matter of how many attempts were known before it.
TEST_F(Merge, TheNumberOfAnAttemptDecidesNothing) {
  run("first.db", {planned("zero", 0)}, 0.9, "one");
  tell_three_ends();
  std::filesystem::copy(at("lost.db"), at("again.db"));
  change("again.db", "UPDATE run SET error = 'a lesser text'");
  std::vector<std::string> order = {"again.db", "first.db", "lost.db"};
  std::string wanted;
  do {
    const std::string all = at(fmt::format("{}{}{}", order[0], order[1], order[2]));
    for (const auto& name : order) merge_stores(all, {at(name)});
    EXPECT_EQ(
        query(all, "SELECT attempt, state, error FROM run ORDER BY 1"),
        (std::vector<std::string>{"1|lost|a lesser text", "2|failed|lost its way", "3|finished|"}))
        << all;
    if (wanted.empty()) wanted = content_of(all);
    EXPECT_EQ(content_of(all), wanted) << all;
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(Merge, WhatIsRunningElsewhereIsLeftOut) {
  run("a.db", {planned("zero", 0)}, 0.9, "one");
  RunStore store(at("b.db"), Mode::kWrite);
  store.add_experiment(experiment_of({planned("zero", 1)}), "sweep");
  const auto run_id = store.begin(planned("zero", 1).key, environment_of("two"), at("b.db.runs/x"));
  auto counts = merge_stores(at("a.db"), {at("b.db")});
  EXPECT_EQ(counts.added, 0);
  EXPECT_EQ(counts.running, 1);
  EXPECT_EQ(query(at("a.db"), "SELECT count(*) FROM run"), std::vector<std::string>{"2"});
  store.finish(*run_id, accuracy_events({0.5}), {});
  counts = merge_stores(at("a.db"), {at("b.db")});
  EXPECT_EQ(counts.added, 1);
  EXPECT_EQ(counts.running, 0);
}

TEST_F(Merge, NothingIsMergedIntoAStoreThatASweepIsAtWorkOn) {
  run("a.db", {planned("zero", 0)}, 0.9, "one");
  RunStore store(at("b.db"), Mode::kWrite);
  store.add_experiment(experiment_of({planned("zero", 1)}), "sweep");
  const auto run_id = store.begin(planned("zero", 1).key, environment_of("two"), at("b.db.runs/x"));
  const auto before = content_of(at("b.db"));
  EXPECT_THROW(merge_stores(at("b.db"), {at("a.db")}), Error);
  EXPECT_EQ(content_of(at("b.db")), before);
  store.finish(*run_id, accuracy_events({0.5}), {});
}

TEST_F(Merge, WithoutOneOfThemNothingHappens) {
  run("a.db", {planned("zero", 0)}, 0.9, "one");
  EXPECT_THROW(merge_stores(at("all.db"), {at("a.db"), at("none.db")}), Error);
  EXPECT_FALSE(std::filesystem::exists(at("all.db")));
}

// A file that somebody else made may have any columns and rows.
TEST_F(Merge, AForeignStoreHarmsNothing) {
  run("a.db", {planned("zero", 0)}, 0.9, "one");
  run("b.db", {planned("zero", 1)}, 0.8, "two");
  const auto before = content_of(at("a.db"));
  {
    SQLite::Database db(at("b.db"), SQLite::OPEN_READWRITE);
    db.exec("ALTER TABLE host ADD COLUMN \"detail) VALUES(1); DROP TABLE run; --\" TEXT");
  }
  merge_stores(at("ab.db"), {at("a.db"), at("b.db")});
  EXPECT_EQ(query(at("ab.db"), "SELECT count(*) FROM run"), std::vector<std::string>{"4"});
  {
    SQLite::Database db(at("b.db"), SQLite::OPEN_READWRITE);
    db.exec("PRAGMA foreign_keys = OFF; UPDATE run SET host_id = 99");
  }
  EXPECT_THROW(merge_stores(at("a.db"), {at("b.db")}), Error);
  EXPECT_EQ(content_of(at("a.db")), before);
}

TEST_F(Merge, AForeignStoreWithATextForANumberIsNamed) {
  run("a.db", {planned("zero", 0)}, 0.9, "one");
  run("b.db", {planned("zero", 1)}, 0.8, "two");
  change("b.db",
         "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; CREATE TABLE m AS SELECT * "
         "FROM metric; DROP TABLE metric; "
         "ALTER TABLE m RENAME TO metric; UPDATE metric SET run_id = 'one'");
  try {
    merge_stores(at("a.db"), {at("b.db")});
    ADD_FAILURE() << "a text is no number";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDatabase);
    EXPECT_TRUE(std::string(error.what()).starts_with(at("b.db"))) << error.what();
  }
}

// Copies of a store from before results had names know each other's results.
TEST_F(Merge, CopiesOfAnOlderStoreHaveTheSameResults) {
  {
    SQLite::Database db(at("old.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    for (const auto& migration : store_migrations()) {
      if (migration.version <= 6) db.exec(migration.sql);
    }
    db.exec("PRAGMA user_version = 6");
    db.exec(
        "INSERT INTO host VALUES(1, 'f', 'box', 'cpu', 2, 3, '', '{}');"
        "INSERT INTO build VALUES(1, 'abc', 0, 'g++', '-O3', '2', '', '');"
        "INSERT INTO kernel_run VALUES(1, 1, 1, '2026-01-01T00:00:00Z', '{}', '');"
        "INSERT INTO kernel_run VALUES(2, 1, 1, '2026-01-01T00:00:00Z', '{}', '');");
  }
  std::filesystem::copy(at("old.db"), at("copy.db"));
  const auto counts = merge_stores(at("old.db"), {at("copy.db")});
  EXPECT_EQ(counts.added, 0);
  EXPECT_EQ(counts.present, 2);
}

}  // namespace
}  // namespace approx
