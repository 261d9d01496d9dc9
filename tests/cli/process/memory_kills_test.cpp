#include "cli/process/memory_kills.h"

#include <gtest/gtest.h>

namespace approx {
namespace {

using std::chrono::seconds;

class MemoryKillsTest : public testing::Test {
 protected:
  int64_t count_ = 3;  // by others, before
  MemoryKills kills_{[this] { return count_; }};
  MemoryKills::Clock::time_point now_{};
};

TEST_F(MemoryKillsTest, AWorkerThatEndsWithAKillWasKilledForItsMemory) {
  kills_.look(now_);
  ++count_;
  EXPECT_TRUE(kills_.claim(now_));
}

TEST_F(MemoryKillsTest, EveryKillIsOfOneWorker) {
  ++count_;
  EXPECT_TRUE(kills_.claim(now_));
  EXPECT_FALSE(kills_.claim(now_)) << "somebody else sent the signal";
}

// Of another process: seconds before a worker was killed by hand.
TEST_F(MemoryKillsTest, AKillOfLongAgoIsNoWorkers) {
  kills_.look(now_);
  ++count_;
  kills_.look(now_ + seconds(1));
  EXPECT_FALSE(kills_.claim(now_ + seconds(1) + MemoryKills::kPatience + seconds(1)));
}

// Its memory takes a while to be given back.
TEST_F(MemoryKillsTest, AKillOfAMomentAgoMayBe) {
  ++count_;
  kills_.look(now_ + seconds(1));
  EXPECT_TRUE(kills_.claim(now_ + seconds(4)));
}

TEST_F(MemoryKillsTest, WhatWasBeforeTheSweepCountsAsNothing) { EXPECT_FALSE(kills_.claim(now_)); }

TEST(MemoryKillsOfThisMachine, AreCountedOrNot) { EXPECT_GE(oom_kills(), -1); }

}  // namespace
}  // namespace approx
