// Sees that its process did not run: whoever is stopped notices nothing, and no clock of its own
// tells a long step from a pause.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/awake_clock.h"

namespace approx {

// Looks at the clocks from a thread of its own for the life of the object, 20 times a second, which
// takes some 0.01 % of a core.
class PauseWatch {
 public:
  // If it is later than that, its process was paused. Load alone makes it up to 0.1 s late, with
  // four busy processes to a core.
  static constexpr std::chrono::milliseconds kLate{250};

  PauseWatch();
  ~PauseWatch();
  PauseWatch(const PauseWatch&) = delete;
  PauseWatch& operator=(const PauseWatch&) = delete;

  // All pauses since its construction, and what the machine slept.
  std::chrono::nanoseconds paused() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  mutable AwakeClock clock_;
  std::thread thread_;
};

}  // namespace approx
