// What becomes of runs whose coordinator or worker is gone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "results/store/run_lock.h"
#include "results/store/run_store.h"
#include "tests/results/store/store_test.h"

namespace approx {
namespace {

TEST_F(StoreTest, ADestroyedCoordinatorLeavesLostRuns) {
  std::optional<int64_t> id;
  {
    auto store = with({planned("zero", 0)});
    id = store.begin("accuracy/zero/0", environment_of(), directory("a"));
  }
  RunStore store(path_, Mode::kWrite);
  EXPECT_EQ(store.recover(), 1);
  EXPECT_EQ(store.recover(), 0);
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kLost);
  EXPECT_TRUE(store.begin("accuracy/zero/0", environment_of(), directory("b")));
}

// The worker, a process of its own, outlives its coordinator, then is killed: only then is its run
// lost, with what it had measured.
TEST_F(StoreTest, AKilledWorkerIsLostWithWhatItMeasured) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t worker = ::fork();
  if (worker == 0) {
    const auto lock = RunLock::acquire(directory("a"));
    const char byte = lock ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::alarm(60);  // should the test fail before it kills this process
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  {
    auto store = with({planned("zero", 0)});
    ASSERT_TRUE(store.begin("accuracy/zero/0", environment_of(), directory("a")));
    std::ofstream(directory("a") + "/events.jsonl")
        << accuracy_event(1, 0.25).dump() << "\n"
        << "garbage\n"
        << accuracy_event(2, 0.5).dump();  // cut off: no end of line
  }
  RunStore store(path_, Mode::kWrite);
  EXPECT_EQ(store.recover(), 0) << "the worker still runs";
  EXPECT_FALSE(store.begin("accuracy/zero/0", environment_of(), directory("b")));
  ::kill(worker, SIGKILL);
  ::waitpid(worker, nullptr, 0);
  EXPECT_EQ(store.recover(), 1);
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kLost);
  EXPECT_EQ(query(path_, "SELECT step, value FROM metric"), std::vector<std::string>{"600|0.25"});
}

// As a power cut leaves it that comes before the log is on the disk.
TEST_F(StoreTest, ALogWithAHoleIsNoResult) {
  {
    auto store = with({planned("zero", 0)});
    ASSERT_TRUE(store.begin("accuracy/zero/0", environment_of(), directory("a")));
    std::string log;
    for (const auto& event : accuracy_events({0.5})) log += event.dump() + "\n";
    std::fill_n(log.begin() + 3, 20, '\0');
    std::ofstream(directory("a") + "/events.jsonl") << log;
  }
  RunStore store(path_, Mode::kWrite);
  EXPECT_EQ(store.recover(), 1);
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kLost);
  EXPECT_EQ(query(path_, "SELECT count(*) FROM metric"), std::vector<std::string>{"0"});
}

TEST_F(StoreTest, ALogWithAFinalEventIsAResult) {
  {
    auto store = with({planned("zero", 0), planned("zero", 1), planned("zero", 2),
                       planned("zero", 3), planned("zero", 4)});
    const auto log = [&](int seed, const std::vector<Json>& events) {
      const auto where = directory(std::to_string(seed));
      ASSERT_TRUE(store.begin("accuracy/zero/" + std::to_string(seed), environment_of(), where));
      std::ofstream out(where + "/events.jsonl");
      for (const auto& event : events) out << event.dump() << "\n";
    };
    log(0, accuracy_events({0.5}));
    log(1, accuracy_events({0.5}, RunState::kDiverged));
    log(2, {{{"event", "error"}, {"kind", 5}, {"message", "no data"}}});
    log(3, {{{"event", "error"}, {"kind", 1}, {"message", "rank 1"}, {"state", "lost"}}});
    log(4, {{{"event", "error"}, {"kind", 1}, {"message", "odd"}, {"state", "finished"}}});
  }
  RunStore store(path_, Mode::kWrite);
  EXPECT_EQ(store.recover(), 5);
  EXPECT_EQ(store.status("accuracy/zero/0").state, RunState::kFinished);
  EXPECT_EQ(store.status("accuracy/zero/1").state, RunState::kDiverged);
  EXPECT_EQ(store.status("accuracy/zero/2").state, RunState::kFailed);
  EXPECT_EQ(store.status("accuracy/zero/2").error, "no data");
  EXPECT_EQ(store.status("accuracy/zero/3").state, RunState::kLost);
  EXPECT_EQ(store.status("accuracy/zero/4").state, RunState::kFailed);
  EXPECT_EQ(query(path_, "SELECT accuracy FROM v_final"), std::vector<std::string>{"0.5"});
}

// However long after that somebody looks.
TEST_F(StoreTest, ARunThatIsGoneEndedWhenItsLogWasLastWritten) {
  {
    auto store = with({planned("zero", 0), planned("zero", 1), planned("zero", 2)});
    const auto log = [&](int seed, const std::vector<Json>& events) {
      const auto where = directory(std::to_string(seed));
      ASSERT_TRUE(store.begin("accuracy/zero/" + std::to_string(seed), environment_of(), where));
      const auto path = where + "/events.jsonl";
      {
        std::ofstream out(path);
        for (const auto& event : events) out << event.dump() << "\n";
      }
      const timespec written{.tv_sec = 1767323045, .tv_nsec = 0};
      const timespec times[] = {written, written};
      ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    };
    log(0, accuracy_events({0.5}));
    log(1, {accuracy_event(1, 0.25)});
    ASSERT_TRUE(store.begin("accuracy/zero/2", environment_of(), directory("2")));
  }
  EXPECT_EQ(RunStore(path_, Mode::kWrite).recover(), 3);
  EXPECT_EQ(query(path_,
                  "SELECT state, iif(seed < 2, ended_utc, ended_utc >= started_utc) FROM run JOIN "
                  "cell USING(cell_id) ORDER BY seed"),
            (std::vector<std::string>{"finished|2026-01-02T03:04:05Z", "lost|2026-01-02T03:04:05Z",
                                      "lost|1"}));
}

}  // namespace
}  // namespace approx
