#include "base/awake_clock.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace approx {
namespace {

// The largest difference of two clock readings while nobody slept.
constexpr std::chrono::nanoseconds kSlack = std::chrono::milliseconds(10);

std::chrono::nanoseconds reading(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

ClockReading read_clocks() {
  // A pause between the two would look like sleep.
  constexpr int kTries = 5;
  ClockReading clocks;
  for (int i = 0; i < kTries; ++i) {
    const auto before = reading(CLOCK_MONOTONIC);
    clocks.boot = reading(CLOCK_BOOTTIME);
    clocks.monotonic = reading(CLOCK_MONOTONIC);
    if (clocks.monotonic - before < std::chrono::milliseconds(1)) break;
  }
  return clocks;
}

AwakeClock::AwakeClock(std::chrono::nanoseconds step, std::chrono::nanoseconds late, Source source)
    : source_(std::move(source)),
      step_(step),
      late_(late),
      last_(source_()),
      ahead_(last_.boot - last_.monotonic) {}

AwakeClock::time_point AwakeClock::now() {
  const ClockReading next = source_();
  const auto passed = next.monotonic - last_.monotonic;
  if (passed > step_ + late_) {
    stood_still_ += passed - step_;
    paused_ += passed - step_;
  }
  const auto ahead = next.boot - next.monotonic;
  if (ahead > ahead_ + kSlack) {
    paused_ += ahead - ahead_;
    ahead_ = ahead;
  }
  last_ = next;
  return time_point(
      std::chrono::duration_cast<time_point::duration>(next.monotonic - stood_still_));
}

}  // namespace approx
