// Detects pauses of its process. A stopped process does not notice a pause, and its own clocks
// cannot distinguish a pause from a long step.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/awake_clock.h"

namespace approx {

// Reads the clocks from a thread of its own 20 times a second during its life, which takes about
// 0.01 % of a core.
class PauseWatch {
 public:
  // A reading later than this means that the process was paused. Load alone delays it by up to 0.1
  // s, with four busy processes per core.
  static constexpr std::chrono::milliseconds kLate{250};

  PauseWatch();
  ~PauseWatch();
  PauseWatch(const PauseWatch&) = delete;
  PauseWatch& operator=(const PauseWatch&) = delete;

  // All pauses since its construction, and sleeps of the machine.
  std::chrono::nanoseconds paused() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  mutable AwakeClock clock_;
  std::thread thread_;
};

}  // namespace approx
