// Clocks that distinguish when this process ran and when it did not. It does not run while it is
// stopped (SIGSTOP, a frozen container, a paused virtual machine) or the machine sleeps.
#pragma once

#include <chrono>
#include <functional>

namespace approx {

// Two clocks of the kernel at one moment. Both are steady. Only `boot` advances while the machine
// sleeps.
struct ClockReading {
  std::chrono::nanoseconds monotonic{0}, boot{0};
};

// Reads CLOCK_MONOTONIC and CLOCK_BOOTTIME. Both are read within a millisecond, unless the machine
// is slower than that every time.
ClockReading read_clocks();

// A clock that stands still while its process does not run. Its owner asks it at least once every
// `step`. If it is asked more than `late` after that, the process was paused: the clock advances by
// `step` only, and paused() grows by the rest. Sleeps of the machine are in paused() too. A pause
// shorter than `late` counts as time, like any such delay of a loaded machine. The time of day
// plays no part. One thread may use an object.
class AwakeClock {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using Source = std::function<ClockReading()>;

  // The longest delay that is attributed to a loaded machine.
  static constexpr std::chrono::nanoseconds kLate = std::chrono::seconds(1);

  explicit AwakeClock(std::chrono::nanoseconds step, std::chrono::nanoseconds late = kLate,
                      Source source = read_clocks);

  // The time now. Comparable with other times of this object only.
  time_point now();

  // The sum of all pauses that now() has seen.
  std::chrono::nanoseconds paused() const { return paused_; }

 private:
  Source source_;
  std::chrono::nanoseconds step_, late_;
  ClockReading last_;
  // The most by which boot was ahead of monotonic so far.
  std::chrono::nanoseconds ahead_;
  std::chrono::nanoseconds stood_still_{0}, paused_{0};
};

// All time since the machine booted, also while this process was stopped or the machine slept. It
// is for limits that a person sets by wall-clock time.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() { return time_point(read_clocks().boot); }
};

}  // namespace approx
