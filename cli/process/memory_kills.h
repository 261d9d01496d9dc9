// Which worker ended because the kernel killed it for its memory. The kernel reports only a count
// for all processes of our cgroup.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace approx {

// How many processes of our cgroup the kernel has killed for their memory; -1 where it does not
// say.
int64_t oom_kills();

class MemoryKills {
 public:
  using Clock = std::chrono::steady_clock;
  // How long a kill can be claimed; a process with much memory needs some time to end.
  static constexpr std::chrono::seconds kPatience{5};

  // `count` returns the kernel's count; tests pass their own.
  explicit MemoryKills(std::function<int64_t()> count = oom_kills);

  // Reads the count. Call it several times within kPatience: a kill that no worker's end has
  // claimed by then was that of another process.
  void look(Clock::time_point now = Clock::now());

  // Whether a worker that has just ended by SIGKILL may have been killed for its memory. It was if
  // there was a recent kill that no other worker has claimed.
  bool claim(Clock::time_point now = Clock::now());

 private:
  std::function<int64_t()> count_;
  int64_t seen_ = 0, unclaimed_ = 0;
  Clock::time_point seen_at_{};
};

}  // namespace approx
