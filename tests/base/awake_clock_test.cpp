#include "base/awake_clock.h"

#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace approx {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kStep{100};

class AwakeClockTest : public testing::Test {
 protected:
  // Both clocks advance, or boot alone while the machine sleeps.
  void pass(std::chrono::nanoseconds time) { reading_.monotonic += time, reading_.boot += time; }
  void sleep(std::chrono::nanoseconds time) { reading_.boot += time; }

  std::chrono::nanoseconds elapsed() { return clock_.now() - start_; }

  ClockReading reading_{.monotonic = seconds(1000), .boot = seconds(1500)};
  AwakeClock clock_{kStep, AwakeClock::kLate, [this] { return reading_; }};
  const AwakeClock::time_point start_ = clock_.now();
};

TEST_F(AwakeClockTest, CountsTimeInWhichItIsAsked) {
  for (int i = 0; i < 50; ++i) pass(kStep), clock_.now();
  EXPECT_EQ(elapsed(), seconds(5));
  EXPECT_EQ(clock_.paused(), seconds(0));
}

TEST_F(AwakeClockTest, ALoadedMachineIsNoPause) {
  for (int i = 0; i < 10; ++i) pass(milliseconds(300)), clock_.now();
  pass(kStep + AwakeClock::kLate);
  EXPECT_EQ(elapsed(), seconds(3) + kStep + AwakeClock::kLate);
  EXPECT_EQ(clock_.paused(), seconds(0));
}

TEST_F(AwakeClockTest, StandsStillWhileTheProcessDoesNotRun) {
  pass(kStep), clock_.now();
  pass(seconds(6));
  EXPECT_EQ(elapsed(), 2 * kStep);
  EXPECT_EQ(clock_.paused(), seconds(6) - kStep);
  pass(kStep);
  EXPECT_EQ(elapsed(), 3 * kStep);
  pass(seconds(1800));  // again
  EXPECT_EQ(elapsed(), 4 * kStep);
  EXPECT_EQ(clock_.paused(), seconds(1806) - 2 * kStep);
}

TEST_F(AwakeClockTest, StandsStillWhileTheMachineSleeps) {
  pass(kStep), sleep(seconds(3600));
  EXPECT_EQ(elapsed(), kStep);
  EXPECT_EQ(clock_.paused(), seconds(3600));
  pass(kStep);
  EXPECT_EQ(elapsed(), 2 * kStep);
  EXPECT_EQ(clock_.paused(), seconds(3600));
  // Both at once: a machine that slept and took its time to wake up.
  pass(seconds(4)), sleep(seconds(60));
  EXPECT_EQ(elapsed(), 3 * kStep);
  EXPECT_EQ(clock_.paused(), seconds(3664) - kStep);
}

TEST_F(AwakeClockTest, ReadingsThatAreAMomentApartAreNoSleep) {
  for (int i = 0; i < 1000; ++i) {
    sleep(milliseconds(5)), clock_.now();
    reading_.boot -= milliseconds(5), clock_.now();
  }
  EXPECT_EQ(clock_.paused(), seconds(0));
}

TEST_F(AwakeClockTest, NeverGoesBack) {
  auto last = clock_.now();
  for (const auto gap : {milliseconds(1), milliseconds(1099), milliseconds(1101),
                         milliseconds(5000), milliseconds(0), milliseconds(1100)}) {
    pass(gap);
    const auto now = clock_.now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(AwakeClock, SeesThatItsOwnProcessWasStopped) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AwakeClock clock(milliseconds(20), milliseconds(200));
    while (clock.paused() == seconds(0)) {
      std::this_thread::sleep_for(milliseconds(10));
      clock.now();
    }
    ::_exit(clock.paused() > milliseconds(250) ? 0 : 1);
  }
  std::this_thread::sleep_for(milliseconds(100));
  ::kill(child, SIGSTOP);
  std::this_thread::sleep_for(milliseconds(400));
  ::kill(child, SIGCONT);
  std::this_thread::sleep_for(milliseconds(500));
  ::kill(child, SIGKILL);  // one that has seen nothing
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(BootClock, IsNotBehindTheTimeInWhichTheMachineWasAwake) {
  const ClockReading reading = read_clocks();
  EXPECT_GE(reading.boot + milliseconds(1), reading.monotonic);
  EXPECT_GE(BootClock::now().time_since_epoch(), reading.boot);
}

}  // namespace
}  // namespace approx
