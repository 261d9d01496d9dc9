#include "results/store/rebuild.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "results/store/journal.h"
#include "results/store/maintenance.h"
#include "results/store/merge.h"
#include "tests/results/store_content.h"

namespace approx {
namespace {

using Mode = RunStore::Mode;

void write_lines(const std::string& path, const std::vector<Json>& lines) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream out(path);
  for (const auto& line : lines) out << json_text(line) << "\n";
}

Json kernel_row(double ratio) {
  return {{"op", "forward"},
          {"method", "crs"},
          {"variant", "gather"},
          {"shape", {{"n", 3}}},
          {"threads", 1},
          {"ns", {100, 200}},
          {"baseline_ns", {200}},
          {"ratio", ratio},
          {"max_rel_error", nullptr},
          {"verdict", "faster"},
          {"special", {{"max_rel_error", "+inf"}}}};
}

class Rebuild : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }
  std::string folder_of(const PlannedRun& run, int64_t number) const {
    return at(fmt::format("t.runs/{}-{}-{}-{}", name(run.config.purpose), run.config.method,
                          run.config.seed, number));
  }

  // One attempt; its events are in its log as well, for that is where a worker puts them first.
  void attempt(RunStore& store, const PlannedRun& run, RunEnd end,
               const std::vector<Json>& events) const {
    const auto seen = store.status(run.key).attempts;
    const auto directory = folder_of(run, seen);
    write_lines(directory + "/events.jsonl", events);
    const auto run_id = store.begin(run.key, environment_of("here"), directory, seen);
    ASSERT_TRUE(run_id.has_value());
    store.finish(*run_id, events, end);
  }

  void expect_equal(const std::string& out = "new.db", int64_t journal = 0) const {
    std::filesystem::remove(at(out));
    const Rebuilt rebuilt = rebuild_store(at("t.db"), at(out), journal);
    EXPECT_EQ(rebuilt.missing, std::vector<std::string>{});
    EXPECT_EQ(content_of(at(out)), content_of(at("t.db")));
  }

  const TemporaryFolder folder_;
};

// Whatever is done to a store in whatever order, by whoever dies at it.
TEST_F(Rebuild, EqualsWhatWasLost) {
  std::mt19937 random(20261124);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<PlannedRun> all;
  for (const char* method : {"dense", "zero", "random"}) {
    for (int seed = 0; seed < 3; ++seed) all.push_back(planned(method, seed));
    all.push_back(planned(method, 0, Purpose::kTiming));
  }
  auto store = std::make_optional<RunStore>(at("t.db"), Mode::kWrite);
  for (int step = 0; step < 150; ++step) {
    const int what = below(10);
    if (what < 2) {
      std::vector<PlannedRun> some;
      for (auto run : all) {
        if (below(3) == 0) continue;
        if (below(5) == 0) run.excluded = "because";
        run.method_label += below(2) == 0 ? "" : "!";
        some.push_back(run);
      }
      auto experiment = experiment_of(some, below(2) == 0 ? "test:one" : "test:two");
      experiment.text = fmt::format("# {}", below(2));
      if (below(2) == 0) experiment.target = Target{.value = 0.1 * below(10)};
      store->add_experiment(experiment, fmt::format("sweep {}", step),
                            below(2) == 0 ? Retire::kNothing : Retire::kUnasked);
    } else if (what < 8) {
      const auto& run = all[static_cast<size_t>(below(static_cast<int>(all.size())))];
      const auto status = store->status(run.key);
      if (status.cell_id == 0 || status.state == RunState::kRunning) continue;
      auto events = accuracy_events({0.1, 0.01 * below(100)});
      events.insert(events.begin(),
                    environment_of(below(2) == 0 ? "here" : "there", below(2) == 0));
      events[1]["value"] = nullptr;
      events.insert(events.begin() + 2, {{"event", "metric"}, {"name", 5}});  // malformed
      events.insert(events.begin(), traffic_event("conv1", 4, step, 600));
      events.insert(events.begin(), traffic_event("conv2", 4, -step, 600));  // malformed, but for 0
      RunEnd end{.exit_code = 0};
      if (below(3) == 0) {
        events.resize(1 + static_cast<size_t>(below(3)));
        end = {.state = kEndStates[2 + static_cast<size_t>(below(5))],
               .signal = 9,
               .error = "so it was\nsaid",
               .taint = {"a", "b"}};
      }
      if (below(8) == 0) {  // is taken back
        const auto run_id = store->begin(run.key, environment_of("here"),
                                         folder_of(run, 200 + step), status.attempts);
        ASSERT_TRUE(run_id);
        store->discard(*run_id);
      } else if (below(4) == 0) {  // dies with the store, and is settled by a later one, or not yet
        const auto directory = folder_of(run, 100 + step);
        ASSERT_TRUE(store->begin(run.key, environment_of("here"), directory, status.attempts));
        if (below(2) == 0) write_lines(directory + "/events.jsonl", events);
        store.emplace(at("t.db"), Mode::kWrite);
        if (below(2) == 0) store->recover();
      } else {
        attempt(*store, run, end, events);
      }
    } else if (what == 8) {
      store->add_kernel_results(environment_of("there"), {kernel_row(0.1 * step)}, "test:one");
    } else {
      store->add_study(environment_of("here"), {.experiment = "",
                                                .name = "s",
                                                .params = {{"n", step}},
                                                .methods = {"zero"},
                                                .content = {{"rows", {{0.1, nullptr}}}}});
    }
    if (step % 30 == 29) expect_equal();
  }
  EXPECT_GT(query(at("t.db"), "SELECT run_id FROM run").size(), 40U);
  EXPECT_GT(query(at("t.db"), "SELECT DISTINCT state FROM run").size(), 5U);
  EXPECT_GT(query(at("t.db"), "SELECT run_id FROM layer_traffic").size(), 20U);
  store.reset();
  // And the work goes on where the lost one was.
  std::filesystem::rename(at("new.db"), at("t.db"));
  RunStore(at("t.db"), Mode::kWrite).recover();
  expect_equal();
  EXPECT_EQ(JournalFiles(at("t.db")).numbers(), std::vector<int64_t>{1});
}

TEST_F(Rebuild, AMergedStoreComesBackWhole) {
  {
    RunStore other(at("other.db"), Mode::kWrite);
    other.add_experiment(experiment_of({planned("dense", 1)}), "sweep");
    const auto id = other.begin(planned("dense", 1).key, environment_of("far"), at("far"));
    other.finish(*id, accuracy_events({0.5}), {});
    RunStore store(at("t.db"), Mode::kWrite);
    store.add_experiment(experiment_of({planned("zero", 1)}), "sweep");
    attempt(store, planned("zero", 1), {}, accuracy_events({0.25}));
  }
  merge_stores(at("t.db"), {at("other.db")});
  RunStore store(at("t.db"), Mode::kWrite);
  attempt(store, planned("zero", 1), {}, accuracy_events({0.75}));
  expect_equal();
  EXPECT_EQ(JournalFiles(at("t.db")).numbers(), std::vector<int64_t>{2});
}

// Of a store that a program made which kept no journal.
TEST_F(Rebuild, AStoreWithoutAJournalIsTheBaseOfOne) {
  {
    RunStore store(at("t.db"), Mode::kWrite);
    store.add_experiment(experiment_of({planned("zero", 1), planned("zero", 2)}), "sweep");
    attempt(store, planned("zero", 1), {}, accuracy_events({0.25}));
  }
  std::filesystem::remove_all(at("t.runs/journal"));
  RunStore store(at("t.db"), Mode::kWrite);
  attempt(store, planned("zero", 2), {}, accuracy_events({0.5}));
  std::filesystem::remove_all(folder_of(planned("zero", 1), 0));
  expect_equal();
}

TEST_F(Rebuild, WhatIsGoneIsSaid) {
  RunStore store(at("t.db"), Mode::kWrite);
  store.add_experiment(experiment_of({planned("zero", 1), planned("zero", 2)}), "sweep");
  attempt(store, planned("zero", 1), {}, accuracy_events({0.25}));
  attempt(store, planned("zero", 2), {.state = RunState::kFailed, .error = "why"},
          {accuracy_event(1, 0.5)});
  for (const int seed : {1, 2}) {
    std::filesystem::remove(folder_of(planned("zero", seed), 0) + "/events.jsonl");
  }
  std::ofstream(JournalFiles(at("t.db")).lines(1), std::ios::app) << "no line\n{\"op\": \"no\"}\n";
  const auto rebuilt = rebuild_store(at("t.db"), at("new.db"));
  EXPECT_EQ(rebuilt.runs, 2);
  ASSERT_EQ(rebuilt.missing.size(), 4U) << fmt::format("{}", fmt::join(rebuilt.missing, "\n"));
  EXPECT_TRUE(rebuilt.missing[0].starts_with("2 of 2 events of ")) << rebuilt.missing[0];
  EXPECT_TRUE(rebuilt.missing[0].ends_with(": a sweep does the run again")) << rebuilt.missing[0];
  EXPECT_TRUE(rebuilt.missing[1].starts_with("1 of 1 events of ")) << rebuilt.missing[1];
  EXPECT_TRUE(rebuilt.missing[2].ends_with("\"no\" is nothing that this program does"))
      << rebuilt.missing[2];
  EXPECT_TRUE(rebuilt.missing[3].ends_with("line 9 is not readable")) << rebuilt.missing[3];
  EXPECT_EQ(query(at("new.db"), "SELECT state FROM run ORDER BY run_id"),
            (std::vector<std::string>{"lost", "failed"}));
  EXPECT_EQ(check_store(at("new.db")), std::vector<std::string>{});
}

// A result whose log was changed is none.
TEST_F(Rebuild, ALogThatLacksALineHasNoResult) {
  RunStore store(at("t.db"), Mode::kWrite);
  store.add_experiment(experiment_of({planned("zero", 1)}), "sweep");
  const auto events = accuracy_events({0.25, 0.5});
  attempt(store, planned("zero", 1), {}, events);
  write_lines(folder_of(planned("zero", 1), 0) + "/events.jsonl", {events[0], events[2]});
  EXPECT_EQ(rebuild_store(at("t.db"), at("new.db")).missing.size(), 1U);
  EXPECT_EQ(query(at("new.db"), "SELECT state FROM run"), std::vector<std::string>{"lost"});
}

// What the logs lost an older copy may still have: the same run, with its result.
TEST_F(Rebuild, ACopyOfBeforeBringsBackItsResults) {
  {
    RunStore store(at("t.db"), Mode::kWrite);
    store.add_experiment(experiment_of({planned("zero", 1), planned("zero", 2)}), "sweep");
    attempt(store, planned("zero", 1), {}, accuracy_events({0.25}));
    attempt(store, planned("zero", 2), {}, accuracy_events({0.5}));
  }
  backup_store(at("t.db"), at("copy.db"));
  std::filesystem::remove(folder_of(planned("zero", 1), 0) + "/events.jsonl");
  rebuild_store(at("t.db"), at("new.db"));
  ASSERT_EQ(query(at("new.db"), "SELECT state FROM run ORDER BY run_id"),
            (std::vector<std::string>{"lost", "finished"}));
  const auto counts = merge_stores(at("new.db"), {at("copy.db")});
  EXPECT_EQ(counts.added, 1);
  EXPECT_EQ(counts.present, 1);
  EXPECT_EQ(content_of(at("new.db")), content_of(at("t.db")));
}

TEST_F(Rebuild, FoldersOlderThanJournalsAreTakenIn) {
  const auto run = planned("zero", 1);
  auto events = accuracy_events({0.25});
  events.insert(events.begin(), environment_of("here"));
  const Json task = {{"run_key", run.key}, {"config", run.config}, {"isolated", false}};
  write_lines(at("t.runs/zero-1/config.json"), {task});
  write_lines(at("t.runs/zero-1/events.jsonl"), {events[0]});
  write_lines(at("t.runs/zero-2/config.json"), {task});
  write_lines(at("t.runs/zero-2/events.jsonl"), events);
  write_lines(at("t.runs/zero-3/config.json"), {task});  // never began
  write_lines(at("t.runs/zero-4/events.jsonl"), events);
  const auto rebuilt = rebuild_store(at("t.db"), at("t.db"));
  EXPECT_EQ(rebuilt.missing.size(), 2U) << fmt::format("{}", fmt::join(rebuilt.missing, "\n"));
  EXPECT_EQ(query(at("t.db"),
                  "SELECT attempt, state, hostname, name FROM run JOIN host USING(host_id) "
                  "LEFT JOIN dataset USING(dataset_id) ORDER BY 1"),
            (std::vector<std::string>{"1|lost|here|mnist", "2|finished|here|mnist"}));
  EXPECT_EQ(query(at("t.db"), "SELECT method, accuracy FROM v_final"),
            std::vector<std::string>{"zero|0.25"});
  EXPECT_EQ(check_store(at("t.db")), std::vector<std::string>{});
  // The file of the experiment takes them up.
  std::filesystem::remove_all(at("t.runs/zero-4"));
  RunStore store(at("t.db"), Mode::kWrite);
  store.add_experiment(experiment_of({run}), "sweep");
  EXPECT_EQ(store.status(run.key).state, RunState::kFinished);
  expect_equal();
}

// A database that was put back, or begun anew, is another one; what the journal told of is kept.
TEST_F(Rebuild, AnOlderDatabaseBeginsAJournalOfItsOwn) {
  {
    RunStore store(at("t.db"), Mode::kWrite);
    store.add_experiment(experiment_of({planned("zero", 1)}), "sweep");
    attempt(store, planned("zero", 1), {}, accuracy_events({0.25}));
  }
  const auto first = content_of(at("t.db"));
  std::filesystem::remove(at("t.db"));
  {
    RunStore store(at("t.db"), Mode::kWrite);
    store.add_experiment(experiment_of({planned("zero", 2)}), "sweep");
    attempt(store, planned("zero", 2), {}, accuracy_events({0.5}));
  }
  expect_equal();
  const auto rebuilt = rebuild_store(at("t.db"), at("first.db"), 1);
  EXPECT_EQ(content_of(at("first.db")), first);
  EXPECT_EQ(rebuilt.more_journals, std::vector<int64_t>{2});
  EXPECT_THROW(rebuild_store(at("t.db"), at("third.db"), 3), Error);
}

TEST_F(Rebuild, ReplacesNothingAndMakesNothingOfNothing) {
  EXPECT_THROW(rebuild_store(at("t.db"), at("new.db")), Error);
  EXPECT_FALSE(std::filesystem::exists(at("new.db")));
  { RunStore store(at("t.db"), Mode::kWrite); }
  EXPECT_THROW(rebuild_store(at("t.db"), at("t.db")), Error);
}

// SQLite would apply what a killed program left of the old one to the new one.
TEST_F(Rebuild, SaysWhereAJournalOfTheOldDatabaseIsLeft) {
  {
    RunStore(at("t.db"), Mode::kWrite).add_experiment(experiment_of({planned("zero", 0)}), "sweep");
  }
  std::filesystem::remove(at("t.db"));
  std::ofstream(at("t.db-journal")) << "pages of before";
  EXPECT_THROW(rebuild_store(at("t.db"), at("t.db")), Error);
  EXPECT_FALSE(std::filesystem::exists(at("t.db")));
  const auto rebuilt = rebuild_store(at("t.db"), at("new.db"));
  EXPECT_TRUE(rebuilt.missing.empty());
  EXPECT_EQ(rebuilt.old_journal, at("t.db-journal"));
}

class JournalTest : public Rebuild {
 protected:
  std::string lines() const { return file_bytes(JournalFiles(at("t.db")).lines(1)); }
  void set_lines(const std::string& text) const {
    std::ofstream(JournalFiles(at("t.db")).lines(1), std::ios::binary) << text;
  }
};

// Whose process died between the journal and the database: the line is undone, and the next one
// is what was done.
TEST_F(JournalTest, ALineThatWasNotCommittedIsUndone) {
  {
    RunStore store(at("t.db"), Mode::kWrite);
    store.add_experiment(experiment_of({planned("zero", 1), planned("zero", 2)}), "sweep");
    store.add_study(environment_of(), {.experiment = "", .name = "one", .content = {}});
  }
  const std::string database = file_bytes(at("t.db"));
  const std::string before = lines();
  const auto redo = [&](const std::function<void(RunStore&)>& work) {
    std::ofstream(at("t.db"), std::ios::binary) << database;
    set_lines(before);
    {
      RunStore store(at("t.db"), Mode::kWrite);
      work(store);
    }
    std::ofstream(at("t.db"), std::ios::binary) << database;
    RunStore store(at("t.db"), Mode::kWrite);
    store.add_study(environment_of(), {.experiment = "", .name = "two", .content = {}});
    EXPECT_NE(lines().find("{\"op\":\"undo\"}"), std::string::npos);
    expect_equal();
    EXPECT_EQ(JournalFiles(at("t.db")).numbers(), std::vector<int64_t>{1});
  };
  redo([](RunStore& store) {
    store.add_study(environment_of(), {.experiment = "", .name = "three", .content = {}});
  });
  redo([](RunStore& store) { store.add_kernel_results(environment_of(), {kernel_row(2)}); });
  redo([&](RunStore& store) {
    ASSERT_TRUE(store.begin(planned("zero", 1).key, environment_of(), at("t.runs/zero-1")));
  });
  redo([](RunStore& store) {
    store.add_experiment(experiment_of({planned("dense", 1)}, "test:two"), "sweep");
  });
}

TEST_F(JournalTest, AnEndThatWasNotCommittedIsUndone) {
  std::string database;
  {
    RunStore store(at("t.db"), Mode::kWrite);
    store.add_experiment(experiment_of({planned("zero", 1)}), "sweep");
    const auto directory = folder_of(planned("zero", 1), 0);
    write_lines(directory + "/events.jsonl", accuracy_events({0.5}));
    const auto run = store.begin(planned("zero", 1).key, environment_of(), directory);
    database = file_bytes(at("t.db"));
    store.finish(*run, accuracy_events({0.5}), {.exit_code = 0});
  }
  std::ofstream(at("t.db"), std::ios::binary) << database;
  EXPECT_EQ(RunStore(at("t.db"), Mode::kWrite).recover(), 1);
  EXPECT_EQ(query(at("t.db"), "SELECT state FROM run"), std::vector<std::string>{"finished"});
  expect_equal();
}

TEST_F(JournalTest, ATakingBackThatWasNotCommittedIsUndone) {
  std::string database;
  {
    RunStore store(at("t.db"), Mode::kWrite);
    store.add_experiment(experiment_of({planned("zero", 1)}), "sweep");
    const auto run_id = store.begin(planned("zero", 1).key, environment_of(), at("t.runs/zero-1"));
    ASSERT_TRUE(run_id);
    database = file_bytes(at("t.db"));
    store.discard(*run_id);
  }
  std::ofstream(at("t.db"), std::ios::binary) << database;
  EXPECT_EQ(RunStore(at("t.db"), Mode::kWrite).recover(), 1);
  EXPECT_NE(lines().find("{\"op\":\"undo\"}"), std::string::npos);
  EXPECT_EQ(query(at("t.db"), "SELECT state FROM run"), std::vector<std::string>{"lost"});
  expect_equal();
}

TEST_F(JournalTest, ALineThatWasCutOffIsNone) {
  {
    RunStore store(at("t.db"), Mode::kWrite);
    store.add_experiment(experiment_of({planned("zero", 1)}), "sweep");
  }
  std::ofstream(JournalFiles(at("t.db")).lines(1), std::ios::app) << R"({"op":"begin","uid":"1)";
  expect_equal();
  {
    RunStore store(at("t.db"), Mode::kWrite);
    attempt(store, planned("zero", 1), {}, accuracy_events({0.25}));
  }
  expect_equal();
}

// Two stores in turn: each finds what the other added.
TEST_F(JournalTest, SeveralProcessesKeepOne) {
  RunStore one(at("t.db"), Mode::kWrite), two(at("t.db"), Mode::kWrite);
  one.add_experiment(experiment_of({planned("zero", 1), planned("zero", 2)}), "sweep");
  attempt(two, planned("zero", 1), {}, accuracy_events({0.25}));
  attempt(one, planned("zero", 2), {}, accuracy_events({0.5}));
  two.add_experiment(experiment_of({planned("zero", 1)}), "sweep two");
  merge_stores(at("t.db"), {at("t.db")});
  attempt(one, planned("zero", 1), {}, accuracy_events({0.75}));
  attempt(two, planned("zero", 1), {}, accuracy_events({0.125}));
  expect_equal();
  EXPECT_EQ(JournalFiles(at("t.db")).numbers(), std::vector<int64_t>{2});
}

// What cannot be written is not done.
TEST_F(JournalTest, WithoutAJournalNothingIsCommitted) {
  std::ofstream(at("t.runs")) << "a file in its way";
  RunStore store(at("t.db"), Mode::kWrite);
  try {
    store.add_experiment(experiment_of({planned("zero", 1)}), "sweep");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDatabase);
    EXPECT_TRUE(std::string(error.what()).starts_with(at("t.runs/journal"))) << error.what();
  }
  EXPECT_EQ(query(at("t.db"), "SELECT count(*) FROM cell"), std::vector<std::string>{"0"});
}

}  // namespace
}  // namespace approx
