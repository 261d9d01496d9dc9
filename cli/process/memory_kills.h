// Whose end it was when the kernel killed a process for its memory. The kernel only counts, for all
// processes of our cgroup together.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace approx {

// How often the kernel has killed a process of our cgroup for its memory; -1 where it cannot say.
int64_t oom_kills();

class MemoryKills {
 public:
  using Clock = std::chrono::steady_clock;
  // A process whose memory is large takes a while to be gone.
  static constexpr std::chrono::seconds kPatience{5};

  // What counts; tests count themselves.
  explicit MemoryKills(std::function<int64_t()> count = oom_kills);

  // To be called several times within that patience: a kill that no worker's end has claimed by
  // then was that of another process.
  void look(Clock::time_point now = Clock::now());

  // Whether a worker that has just ended by SIGKILL may be one that the kernel killed so: a kill
  // that was seen a moment ago and that no other worker has claimed.
  bool claim(Clock::time_point now = Clock::now());

 private:
  std::function<int64_t()> count_;
  int64_t seen_ = 0, unclaimed_ = 0;
  Clock::time_point seen_at_{};
};

}  // namespace approx
