#include "cli/process/disturbance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <thread>
#include <vector>

namespace approx {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

constexpr auto kLongEnough = milliseconds(500);
constexpr double kTick = 0.01;

// A timing of half a second, in which two threads were at work.
class DisturbancesTest : public testing::Test {
 protected:
  DisturbancesTest() {
    before_.steady_s = 100, after_.steady_s = 100.5;
    before_.waits = {{1, milliseconds(40)}, {2, milliseconds(7)}};
    after_.waits = before_.waits;
    before_.cpu = {.busy_s = 1000, .stolen_s = {{0, 1.0}, {1, 2.0}}};
    after_.cpu = {.busy_s = 1001, .stolen_s = before_.cpu.stolen_s};
    before_.ours_s = 3, after_.ours_s = 4;
  }

  void nobody_counts_waits() { before_.waits = after_.waits = std::nullopt; }
  std::vector<std::string> found() const { return disturbances(before_, after_, {0, 1}, kTick); }

  Activity before_, after_;
};

TEST_F(DisturbancesTest, QuietIsQuiet) { EXPECT_THAT(found(), ElementsAre()); }

TEST_F(DisturbancesTest, WaitingForACoreCountsAboveTwoPercent) {
  (*after_.waits)[2] = milliseconds(7 + 10);
  EXPECT_THAT(found(), ElementsAre());
  (*after_.waits)[2] = milliseconds(7 + 11);
  EXPECT_THAT(found(), ElementsAre("waited for a core 2.2 % of the time (0.011 of 0.50 s)"));
  // Side by side.
  (*after_.waits)[1] = milliseconds(40 + 11);
  EXPECT_THAT(found(), ElementsAre("waited for a core 2.2 % of the time (0.011 of 0.50 s)"));
  // In little time: what starting a thread takes is no disturbance.
  after_.steady_s = 100.01, after_.waits = before_.waits;
  (*after_.waits)[1] = milliseconds(40 + 2);
  EXPECT_THAT(found(), ElementsAre());
}

TEST_F(DisturbancesTest, OthersOnIdleCoresAreNone) {
  after_.cpu.busy_s = 1001 + 0.5;
  EXPECT_THAT(found(), ElementsAre());
}

TEST_F(DisturbancesTest, WhatTheHostTookOfOneOfItsCores) {
  after_.cpu.stolen_s[1] += 2 * kTick;  // two ticks are the end of one and the beginning of another
  EXPECT_THAT(found(), ElementsAre());
  after_.cpu.stolen_s[1] += 3 * kTick;
  EXPECT_THAT(found(), ElementsAre("the host of this virtual machine took 10.0 % of a core of it"));
  EXPECT_THAT(disturbances(before_, after_, {0}, kTick), ElementsAre());
}

TEST_F(DisturbancesTest, WhereNobodyCountsWaitsTwoTicksAreNone) {
  nobody_counts_waits();
  EXPECT_THAT(found(), ElementsAre());
  for (const int ticks : {2, 5}) {
    after_.cpu.busy_s = 1001 + ticks * kTick;
    EXPECT_THAT(found(), ElementsAre()) << ticks;
  }
  after_.cpu.busy_s = 1001 + 0.1;
  EXPECT_THAT(found(), ElementsAre("other processes used 0.20 cores"));
  // In ten seconds that is nothing.
  after_.steady_s = 110;
  EXPECT_THAT(found(), ElementsAre());
}

TEST_F(DisturbancesTest, TheLimitOfACgroup) {
  after_.throttled_s = 0.1;
  EXPECT_THAT(found(), ElementsAre("held back 0.10 s by the CPU limit of its cgroup"));
}

TEST_F(DisturbancesTest, TheRecordSaysItsMeasure) {
  (*after_.waits)[1] = milliseconds(40 + 5);
  after_.cpu.busy_s = 1001 + 0.05;
  EXPECT_EQ(core_wait(before_, after_).measure, "schedstat");
  EXPECT_NEAR(core_wait(before_, after_).share, 0.01, 1e-9);
  nobody_counts_waits();
  EXPECT_EQ(core_wait(before_, after_).measure, "ticks");
  EXPECT_NEAR(core_wait(before_, after_).share, 0.1, 1e-9);
}

// Processor time of a process that is at work, in seconds.
double seconds_of(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process, &clock) != 0) return 0;
  ::clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// On a busy machine others are at work in any case. But this one's time is ours as soon as it has
// ended: it is what others have less by then.
TEST(Disturbance, AnotherProcessAtWorkIsSeen) {
  using Clock = std::chrono::steady_clock;
  constexpr double kUsed = 1;  // seconds
  const Disturbance disturbance(Disturbance::Computing::kChildren);
  const auto start = Clock::now();
  const auto seconds_of_others = [&] {
    const double cores = disturbance.core_wait().share;
    return cores * std::chrono::duration<double>(Clock::now() - start).count();
  };
  const pid_t other = ::fork();
  if (other == 0) {
    for (volatile bool on = true; on;) {
    }
  }
  while (seconds_of(other) < kUsed && Clock::now() < start + std::chrono::minutes(2)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const double while_it_worked = seconds_of_others();
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_GT(while_it_worked - seconds_of_others(), kUsed / 2);
}

// With every core busy, others had what this process had not, however much they do meanwhile.
TEST(Disturbance, OnesOwnWorkIsNone) {
  const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const Disturbance disturbance(Disturbance::Computing::kChildren);
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t used_before = std::clock();
  std::vector<std::thread> threads;
  for (int i = 0; i < cores; ++i) {
    threads.emplace_back([start] {
      while (std::chrono::steady_clock::now() < start + kLongEnough) {
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const double others = disturbance.core_wait().share;
  const double own = static_cast<double>(std::clock() - used_before) / CLOCKS_PER_SEC;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  EXPECT_LT(others + own / wall.count(), cores + 0.3);
}

TEST(Disturbance, AMomentSaysNothing) { EXPECT_TRUE(Disturbance().taints().empty()); }

// Twice as many busy threads as there are cores wait for half of the time, all of them.
TEST(Disturbance, ThreadsThatWaitForACoreAreSeen) {
  const Disturbance disturbance;
  if (disturbance.core_wait().measure != "schedstat") GTEST_SKIP() << "the kernel does not count";
  std::atomic<bool> asked = false;  // threads that have ended are not there to ask
  std::vector<std::jthread> threads;
  for (long i = 0; i < 2 * sysconf(_SC_NPROCESSORS_ONLN); ++i) {
    threads.emplace_back([&asked] {
      while (!asked) {
      }
    });
  }
  std::this_thread::sleep_for(milliseconds(450));
  const double share = disturbance.core_wait().share;
  const auto taints = disturbance.taints();
  asked = true;
  EXPECT_GT(share, 0.2);
  EXPECT_THAT(taints, testing::Contains(testing::HasSubstr("waited for a core")));
}

// A thread that sleeps, or waits for another, waits for no core.
TEST(Disturbance, ASleeperWaitsForNoCore) {
  const Disturbance disturbance;
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_LT(disturbance.core_wait().share, 0.5);
}

}  // namespace
}  // namespace approx
