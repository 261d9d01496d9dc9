// Clocks that tell apart when this process ran and when it did not: it was stopped (SIGSTOP, a
// frozen container, a paused virtual machine), or the machine slept.
#pragma once

#include <chrono>
#include <functional>

namespace approx {

// Two clocks of the kernel at one moment. Both are steady. Only `boot` advances while the machine
// sleeps.
struct ClockReading {
  std::chrono::nanoseconds monotonic{0}, boot{0};
};

// CLOCK_MONOTONIC and CLOCK_BOOTTIME, less than a millisecond apart unless the machine is that slow
// every time.
ClockReading read_clocks();

// A clock that stands still while its process does not run. Its owner asks it at least once every
// `step`. If it is asked more than `late` after that, the process was paused: the clock then
// advances by `step` alone, and paused() has the rest. What the machine slept is in paused() too.
// A pause shorter than `late` counts as time, and so does every delay of a loaded machine up to
// that. The time of day plays no part. One thread may use an object.
class AwakeClock {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using Source = std::function<ClockReading()>;

  // The longest delay that a loaded machine is taken to be capable of.
  static constexpr std::chrono::nanoseconds kLate = std::chrono::seconds(1);

  explicit AwakeClock(std::chrono::nanoseconds step, std::chrono::nanoseconds late = kLate,
                      Source source = read_clocks);

  // The time now. Comparable with other times of this object only.
  time_point now();

  // All pauses that now() has seen, together.
  std::chrono::nanoseconds paused() const { return paused_; }

 private:
  Source source_;
  std::chrono::nanoseconds step_, late_;
  ClockReading last_;
  std::chrono::nanoseconds ahead_;  // of boot before monotonic, the most that was seen
  std::chrono::nanoseconds stood_still_{0}, paused_{0};
};

// All time since the machine booted, whether this process ran or the machine slept: for a limit
// that a person set by the clock on the wall.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() { return time_point(read_clocks().boot); }
};

}  // namespace approx
