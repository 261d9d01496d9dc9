// One store, several programs: who has a run, who waits for whom.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <utility>

#include "results/store/run_lock.h"
#include "results/store/run_store.h"
#include "tests/results/store/store_test.h"

namespace approx {
namespace {

TEST_F(StoreTest, ARunIsClaimedOnce) {
  auto store = with({planned("zero", 0)});
  RunStore other(path_, Mode::kWrite);
  const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  ASSERT_TRUE(id);
  EXPECT_FALSE(other.begin("accuracy/zero/0", environment_of(), directory("b")));
  EXPECT_FALSE(other.begin("accuracy/zero/0", environment_of(), directory("a")));
  EXPECT_EQ(other.recover(), 0);
  store.finish(*id, accuracy_events({0.5}), {});
  EXPECT_FALSE(other.begin("accuracy/zero/0", environment_of(), directory("c"))) << "has a result";
  EXPECT_FALSE(other.begin("accuracy/zero/0", environment_of(), directory("c"), 0));
  const auto again = other.begin("accuracy/zero/0", environment_of(), directory("c"), 1);
  ASSERT_TRUE(again);
  other.finish(*again, accuracy_events({0.75}), {});
  EXPECT_EQ(query(path_, "SELECT accuracy FROM v_final"), std::vector<std::string>{"0.75"})
      << "the last attempt with a result counts";
  EXPECT_THROW(store.begin("no such key", environment_of(), directory("a")), Error);
}

TEST_F(StoreTest, AFailedRunIsBegunAgainWithoutBeingAsked) {
  auto store = with({planned("zero", 0)});
  const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  store.finish(*id, {}, {.state = RunState::kFailed, .error = "no"});
  ASSERT_TRUE(store.begin("accuracy/zero/0", environment_of(), directory("a")));
  EXPECT_EQ(store.status("accuracy/zero/0").attempts, 2);
}

TEST_F(StoreTest, ARunThatIsTakenBackWasNeverBegun) {
  auto store = with({planned("zero", 0)});
  const auto first = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  store.finish(*first, {}, {.state = RunState::kFailed, .error = "no"});
  const auto second = store.begin("accuracy/zero/0", environment_of(), directory("b"), 1);
  ASSERT_TRUE(second);
  store.discard(*second);
  EXPECT_EQ(store.status("accuracy/zero/0").attempts, 1);
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kFailed);
  EXPECT_THROW(store.discard(*second), Error);
  EXPECT_THROW(store.discard(*first), Error) << "it has ended";
  EXPECT_FALSE(RunLock::held(directory("b"), RunLock::kClaim));
  const auto third = store.begin("accuracy/zero/0", environment_of(), directory("b"), 1);
  ASSERT_TRUE(third);
  store.finish(*third, accuracy_events({0.5}), {});
  EXPECT_EQ(query(path_, "SELECT attempt FROM run ORDER BY 1"),
            (std::vector<std::string>{"1", "2"}));
}

// Four coordinators, processes of their own, share one list of cells.
TEST_F(StoreTest, ManyWritersRunEachCellOnce) {
  constexpr int kCells = 25, kWriters = 4;
  std::vector<PlannedRun> runs;
  for (int seed = 0; seed < kCells; ++seed) runs.push_back(planned("zero", seed));
  std::vector<pid_t> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 0;
      try {
        RunStore store(path_, Mode::kWrite);
        store.add_experiment(experiment_of(runs), "sweep");
        for (const auto& run : runs) {
          const auto where =
              directory(std::to_string(writer) + "-" + std::to_string(run.config.seed));
          if (const auto id = store.begin(run.key, environment_of(), where)) {
            store.finish(*id, accuracy_events({0.5}), {});
          }
        }
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        status = 1;
      }
      ::_exit(status);
    }
    writers.push_back(child);
  }
  for (const pid_t child : writers) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(query(path_, "SELECT count(*), count(DISTINCT cell_id), max(attempt) FROM run"),
            std::vector<std::string>{"25|25|1"});
  EXPECT_EQ(query(path_, "PRAGMA integrity_check"), std::vector<std::string>{"ok"});
}

TEST_F(StoreTest, ReadersNeverStopAWriter) {
  auto store = with({planned("zero", 0)});
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  std::thread reader([&] {
    while (!stop) {
      RunStore snapshot(path_, Mode::kRead);
      ++reads;
    }
  });
  int64_t attempts = 0;
  while (attempts < 30 || reads < 5) {
    const auto id = store.begin("accuracy/zero/0", environment_of(), directory("a"), attempts++);
    ASSERT_TRUE(id);
    store.finish(*id, accuracy_events({0.5}), {});
  }
  stop = true;
  reader.join();
  EXPECT_EQ(store.status("accuracy/zero/0").attempts, attempts);
}

TEST_F(StoreTest, ALockedDatabaseIsGivenUpWithAMessage) {
  auto store = with({planned("zero", 0)});
  SQLite::Database holder(path_, SQLite::OPEN_READWRITE);
  holder.exec("BEGIN EXCLUSIVE");
  StoreOptions options;
  options.lock_timeout = std::chrono::milliseconds(50);
  EXPECT_NE(store_refusal(path_, Mode::kWrite, options).find("locked by another program"),
            std::string::npos);
  EXPECT_NE(store_refusal(path_, Mode::kRead, options).find("locked by another program"),
            std::string::npos);
}

TEST_F(StoreTest, AWriterWaitsAndSaysSo) {
  auto store = with({planned("zero", 0)});
  SQLite::Database holder(path_, SQLite::OPEN_READWRITE);
  holder.exec("BEGIN EXCLUSIVE");
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2800));
    holder.exec("ROLLBACK");
  });
  std::vector<std::string> notices;
  StoreOptions options;
  options.notice = [&](const std::string& message) { notices.push_back(message); };
  RunStore waiting(path_, Mode::kWrite, options);
  release.join();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find("waiting for another program's lock"), std::string::npos);
}

// Stopped for longer than it waits, it goes on to wait.
TEST_F(StoreTest, ItsOwnPauseIsNoWait) {
  { auto store = with({planned("zero", 0)}); }
  const pid_t writer = ::fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    // It begins to wait once the lock is held.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    StoreOptions options;
    options.lock_timeout = std::chrono::milliseconds(2500);
    try {
      RunStore store(path_, Mode::kWrite, options);
    } catch (const Error&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  SQLite::Database holder(path_, SQLite::OPEN_READWRITE);
  holder.exec("BEGIN EXCLUSIVE");
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  ::kill(writer, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  ::kill(writer, SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  holder.exec("ROLLBACK");
  int status = -1;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(RunLockTest, TellsWhoHoldsIt) {
  TemporaryFolder folder;
  EXPECT_FALSE(RunLock::held(folder / "run"));
  {
    auto lock = RunLock::acquire(folder / "run");
    ASSERT_TRUE(lock);
    EXPECT_TRUE(RunLock::held(folder / "run"));
    EXPECT_FALSE(RunLock::held(folder / "run", RunLock::kClaim));
    EXPECT_FALSE(RunLock::acquire(folder / "run"));
    auto moved = std::move(*lock);
    EXPECT_TRUE(RunLock::held(folder / "run"));
  }
  EXPECT_FALSE(RunLock::held(folder / "run"));
  std::ofstream(folder / "file") << "x";
  EXPECT_THROW(RunLock::acquire(folder / "file"), Error);
}

}  // namespace
}  // namespace approx
