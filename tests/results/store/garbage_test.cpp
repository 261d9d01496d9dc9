#include "results/store/garbage.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "results/store/journal.h"
#include "results/store/rebuild.h"
#include "results/store/run_folders.h"
#include "results/store/run_lock.h"
#include "tests/results/store_content.h"

namespace approx {
namespace {

namespace fs = std::filesystem;
using Mode = RunStore::Mode;

class GarbageTest : public testing::Test {
 protected:
  GarbageTest() { RunStore(db_, Mode::kWrite).add_experiment(experiment_of(runs_), "sweep"); }

  std::string at(const std::string& name) const { return folder_ / name; }

  // An attempt that ended so, with the files of its folder.
  void attempt(size_t run, RunState state, const std::string& name) const {
    RunStore store(db_, Mode::kWrite);
    const auto directory = make_folder_of(name, runs_[run]);
    const auto& key = runs_[run].key;
    const auto id = store.begin(key, environment_of(), directory, store.status(key).attempts);
    const auto events = accuracy_events({0.25}, state);
    std::ofstream out(directory + "/events.jsonl");
    if (is_result(state)) {
      for (const auto& event : events) out << json_text(event) << "\n";
    }
    store.finish(*id, is_result(state) ? events : std::vector<Json>(), {.state = state});
  }

  std::string make_folder_of(const std::string& name, const PlannedRun& run) const {
    std::string directory = at("t.runs/" + name);
    fs::create_directories(directory);
    std::ofstream(directory + "/config.json")
        << json_text({{"run_key", run.key}, {"config", run.config}});
    return directory;
  }

  // What is beside the database, without what is always there.
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(at("t.runs"))) {
      names.push_back(entry.path().filename().string());
    }
    for (const auto& entry : fs::directory_iterator(folder_ / "")) {
      const auto name = entry.path().filename().string();
      if (name.ends_with(".backup")) names.push_back(name);
    }
    std::erase(names, "journal");
    std::ranges::sort(names);
    return names;
  }

  GarbageFound collect(const GarbageOptions& options = {}) const {
    GarbageFound said;
    collect_garbage(db_, options, [&](const GarbageFound& found) { said = found; });
    return said;
  }

  void expect_rebuilt_equal() const {
    fs::remove(at("new.db"));
    EXPECT_EQ(rebuild_store(db_, at("new.db")).missing, std::vector<std::string>{});
    EXPECT_EQ(content_of(at("new.db")), content_of(db_));
  }

  // Everything that a run may leave behind.
  void fill() const {
    attempt(0, RunState::kFailed, "aaaaaaaaaaaa-1");
    attempt(0, RunState::kFinished, "aaaaaaaaaaaa-2");
    attempt(1, RunState::kInterrupted, "bbbbbbbbbbbb-1");
    attempt(1, RunState::kFailed, "bbbbbbbbbbbb-2");
    attempt(2, RunState::kDiverged, "cccccccccccc-1");
    attempt(2, RunState::kFailed, "cccccccccccc-2");
    make_folder_of("dddddddddddd-1", runs_[0]);
    std::ofstream(make_folder_of("eeeeeeeeeeee-1", runs_[1]) + "/events.jsonl")
        << json_text(final_event(10)) << "\n";
    fs::create_directories(at("t.runs/aaaaaaaaaaaa.checkpoint"));  // done
    fs::create_directories(at("t.runs/bbbbbbbbbbbb.checkpoint"));  // to do
    fs::create_directories(at("t.runs/ffffffffffff.checkpoint"));  // nobody's
    std::ofstream(at("t.db.v6.backup")) << "copy";
    std::ofstream(at("t.db.vx.backup")) << "somebody's";
    fs::create_directories(at("t.runs/somebody's"));
    fs::create_directory_symlink(at("t.runs/dddddddddddd-1"), at("t.runs/link-1"));
  }

  static PlannedRun keyed(const std::string& key, int64_t seed) {
    auto run = planned("zero", seed);
    run.key = key;
    return run;
  }

  const TemporaryFolder folder_;
  const std::string db_ = folder_ / "t.db";
  const std::vector<PlannedRun> runs_ = {keyed("aaaaaaaaaaaa0", 1), keyed("bbbbbbbbbbbb0", 2),
                                         keyed("cccccccccccc0", 3)};
};

TEST_F(GarbageTest, OnlyWhatNoResultNeedsGoes) {
  fill();
  const auto before = content_of(db_);
  const auto found = collect();
  EXPECT_EQ(left(),
            (std::vector<std::string>{"aaaaaaaaaaaa-2", "bbbbbbbbbbbb-2", "bbbbbbbbbbbb.checkpoint",
                                      "cccccccccccc-1", "cccccccccccc-2", "eeeeeeeeeeee-1",
                                      "link-1", "somebody's", "t.db.v6.backup", "t.db.vx.backup"}));
  EXPECT_EQ(found.garbage.size(), 5U);
  ASSERT_EQ(found.kept.size(), 1U);
  EXPECT_TRUE(found.kept[0].starts_with(at("t.runs/eeeeeeeeeeee-1") + ": a result"))
      << found.kept[0];
  EXPECT_EQ(content_of(db_), before);
  fs::remove_all(at("t.runs/eeeeeeeeeeee-1"));
  expect_rebuilt_equal();
}

TEST_F(GarbageTest, FinishedRunsAndBackupsGoWhenAskedFor) {
  fill();
  fs::remove_all(at("t.runs/eeeeeeeeeeee-1"));
  const auto before = content_of(db_);
  collect({.finished = true, .backups = true});
  EXPECT_EQ(left(),
            (std::vector<std::string>{"bbbbbbbbbbbb-2", "bbbbbbbbbbbb.checkpoint", "cccccccccccc-2",
                                      "link-1", "somebody's", "t.db.vx.backup"}));
  EXPECT_EQ(content_of(db_), before);
  expect_rebuilt_equal();
  attempt(1, RunState::kFinished, "bbbbbbbbbbbb-3");
  expect_rebuilt_equal();
}

TEST_F(GarbageTest, ADryRunRemovesNothing) {
  fill();
  const auto before = left();
  const std::string database = file_bytes(db_);
  const auto found = collect({.finished = true, .backups = true, .dry_run = true});
  EXPECT_EQ(found.garbage.size(), 8U);
  const auto size = std::ranges::find_if(
      found.garbage, [&](const Garbage& one) { return one.path == at("t.db.v6.backup"); });
  ASSERT_NE(size, found.garbage.end());
  EXPECT_EQ(size->bytes, 4);
  EXPECT_EQ(left(), before);
  EXPECT_TRUE(file_bytes(db_) == database);
  EXPECT_EQ(JournalFiles(db_).last(), 1);
}

TEST_F(GarbageTest, NothingIsRemovedWhileASweepIsAtWork) {
  fill();
  const auto before = left();
  {
    const auto lock = RunLock::acquire(at("t.runs/sweeps"), "abc-0");
    EXPECT_THROW(collect(), Error);
  }
  fs::remove_all(at("t.runs/sweeps"));
  {
    RunStore store(db_, Mode::kWrite);
    ASSERT_TRUE(store.begin(runs_[1].key, environment_of(), at("t.runs/bbbbbbbbbbbb-3"), 2));
    EXPECT_THROW(collect(), Error);
  }
  fs::remove_all(at("t.runs/bbbbbbbbbbbb-3"));
  EXPECT_EQ(left(), before);
}

TEST_F(GarbageTest, AJournalWithResultsThatTheDatabaseLacksIsKept) {
  attempt(0, RunState::kFinished, "aaaaaaaaaaaa-1");
  const std::string older = file_bytes(db_);
  attempt(1, RunState::kFinished, "bbbbbbbbbbbb-1");
  RunStore(db_, Mode::kWrite).add_study(environment_of(), {.experiment = "", .name = "s"});
  const auto all = content_of(db_);
  std::ofstream(db_, std::ios::binary) << older;
  attempt(2, RunState::kFinished, "cccccccccccc-1");
  ASSERT_EQ(JournalFiles(db_).numbers(), (std::vector<int64_t>{1, 2}));
  const auto found = collect({.finished = true});
  ASSERT_EQ(found.kept.size(), 2U);  // the folder of the run, and the journal
  EXPECT_NE(found.kept[1].find("1.jsonl: 2 results"), std::string::npos) << found.kept[1];
  // The folders of the first database's runs are needed for it.
  EXPECT_TRUE(fs::exists(at("t.runs/bbbbbbbbbbbb-1")));
}

// A run that was to be done again and was stopped goes on: the sweep looks at its last attempt.
TEST_F(GarbageTest, TheCheckpointOfARunThatIsDoneAgainStays) {
  attempt(0, RunState::kFinished, "aaaaaaaaaaaa-1");
  attempt(0, RunState::kInterrupted, "aaaaaaaaaaaa-2");
  attempt(1, RunState::kDiverged, "bbbbbbbbbbbb-1");
  attempt(1, RunState::kLost, "bbbbbbbbbbbb-2");
  attempt(2, RunState::kInterrupted, "cccccccccccc-1");
  attempt(2, RunState::kFinished, "cccccccccccc-2");
  for (const char* key : {"aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"}) {
    fs::create_directories(at(fmt::format("t.runs/{}.checkpoint", key)));
  }
  collect();
  EXPECT_EQ(left(),
            (std::vector<std::string>{"aaaaaaaaaaaa-1", "aaaaaaaaaaaa-2", "aaaaaaaaaaaa.checkpoint",
                                      "bbbbbbbbbbbb-1", "bbbbbbbbbbbb-2", "bbbbbbbbbbbb.checkpoint",
                                      "cccccccccccc-2"}));
}

// What is named otherwise than this program names it is somebody's, wherever a link leads.
TEST_F(GarbageTest, FilesOfTheUsersStay) {
  fill();
  std::ofstream(at("t.runs/journal/thesis.txt")) << "mine";
  std::ofstream(at("t.runs/journal/2.jsonl.77")) << "{";
  fs::create_directories(at("t.runs/bert"));
  std::ofstream(at("t.runs/bert/config.json")) << "{}";
  fs::create_directories(at("t.runs/model.checkpoint"));
  collect({.finished = true, .backups = true});
  EXPECT_TRUE(fs::exists(at("t.runs/journal/thesis.txt")));
  EXPECT_FALSE(fs::exists(at("t.runs/journal/2.jsonl.77")));
  EXPECT_TRUE(fs::exists(at("t.runs/bert/config.json")));
  EXPECT_TRUE(fs::exists(at("t.runs/model.checkpoint")));

  fs::create_directories(at("docs"));
  for (const char* name : {"1.jsonl", "2.jsonl", "3.db.5"})
    std::ofstream(at("docs/") + name) << "mine";
  fs::remove_all(at("t.runs/journal"));
  fs::create_directory_symlink(at("docs"), at("t.runs/journal"));
  GarbageFound said;
  collect_garbage(db_, {.dry_run = true}, [&](const GarbageFound& found) { said = found; });
  for (const auto& one : said.garbage)
    EXPECT_EQ(one.path.find("journal"), std::string::npos) << one.path;
}

// A kill may leave a folder without its task, and an older program without some other file.
TEST_F(GarbageTest, WhatAKilledRemovalLeftGoes) {
  attempt(0, RunState::kFailed, "aaaaaaaaaaaa-1");
  attempt(0, RunState::kFinished, "aaaaaaaaaaaa-2");
  fs::remove(at("t.runs/aaaaaaaaaaaa-1/config.json"));
  fs::remove(at("t.runs/aaaaaaaaaaaa-2/config.json"));
  fs::create_directories(at("t.runs/dddddddddddd-1"));
  fs::create_directories(at("t.runs/eeeeeeeeeeee-1"));
  std::ofstream(at("t.runs/eeeeeeeeeeee-1/events.jsonl")) << json_text(final_event(10)) << "\n";
  collect({.finished = true});
  EXPECT_EQ(left(), std::vector<std::string>{"eeeeeeeeeeee-1"});
}

// One name is that of the other without its ending.
TEST_F(GarbageTest, TheFilesOfAnotherDatabaseStay) {
  const std::string folder = runs_directory(at("t")) + "/x-1";
  RunStore other(at("t"), Mode::kWrite);
  other.add_experiment(experiment_of({runs_[0]}), "sweep");
  const auto id = other.begin(runs_[0].key, environment_of(), folder);
  std::ofstream(folder + "/config.json") << "{}";
  other.finish(*id, {}, {.state = RunState::kFailed});
  attempt(0, RunState::kFinished, "aaaaaaaaaaaa-1");
  EXPECT_EQ(collect({.finished = true}).garbage.size(), 1U);
  EXPECT_TRUE(fs::exists(folder));
  EXPECT_EQ(JournalFiles(at("t")).numbers(), std::vector<int64_t>{1});
}

TEST_F(GarbageTest, NoStoreNoGarbage) {
  EXPECT_THROW(collect_garbage(at("none.db"), {}, [](const GarbageFound&) {}), Error);
}

// Killed at any moment, again and again: everything is in the database, and comes back without it.
TEST_F(GarbageTest, WhoeverKillsItLosesNothing) {
  fill();
  fs::remove_all(at("t.runs/eeeeeeeeeeee-1"));
  const auto before = content_of(db_);
  int killed = 0;
  for (int pause_us = 0; pause_us < 40'000; pause_us += 500) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0) << std::strerror(errno);  // kill(-1) would end every process
    if (child == 0) {
      try {
        collect({.finished = true});
      } catch (const std::exception& error) {
        std::ofstream(at("refused")) << error.what();
        ::_exit(2);
      }
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    killed += WIFSIGNALED(status);
    ASSERT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 2)
        << pause_us << ": " << file_bytes(at("refused"));
    ASSERT_EQ(content_of(db_), before) << pause_us;
    expect_rebuilt_equal();
  }
  EXPECT_GT(killed, 0);
  collect({.finished = true});
  EXPECT_FALSE(fs::exists(at("t.runs/aaaaaaaaaaaa-2")));
  expect_rebuilt_equal();
}

}  // namespace
}  // namespace approx
