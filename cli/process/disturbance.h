// Other activity on the machine during a timing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/process/core_waits.h"
#include "cli/process/pause_watch.h"

namespace approx {

// Counters at one moment, all in seconds except `waits`.
struct Activity {
  double steady_s = 0;
  std::optional<CoreWaits> waits;  // of this process's threads; nothing: the kernel does not count
  CpuTimes cpu;                    // of the machine
  double ours_s = 0;               // of this process, its threads, and its ended children
  double throttled_s = 0;          // by the CPU limit of our cgroup
};

// The share of a timing in which it had no core.
struct CoreWait {
  // How it was measured. "schedstat": the longest wait of one thread, from the scheduler. "ticks":
  // CPU use of other processes in cores, which need not be the cores of the timing.
  std::string measure;
  double share = 0;
};

CoreWait core_wait(const Activity& before, const Activity& after);

// The disturbances between two readings: one line of plain text for each, none where there were
// none. The limits are:
// - waits for cores: 2 %;
// - CPU use of others, where only that is known: 5 % of a core and five ticks of `tick_s`;
// - time that the host of a virtual machine took from one of `cpus`: 2 % and three ticks;
// - throttling by the CPU limit: 1 %.
std::vector<std::string> disturbances(const Activity& before, const Activity& after,
                                      const std::vector<int>& cpus, double tick_s);

// Measures disturbances from its construction on.
class Disturbance {
 public:
  // Who computes: threads of this process, or processes that it has started. The threads of the
  // latter cannot be read once they have ended.
  enum class Computing { kThreads, kChildren };

  explicit Disturbance(Computing by = Computing::kThreads);

  // The disturbances so far: those of disturbances(), and pauses.
  std::vector<std::string> taints() const;

  CoreWait core_wait() const { return approx::core_wait(start_, read()); }

 private:
  Activity read() const;

  Computing by_;
  std::vector<int> cpus_;
  double tick_s_;
  PauseWatch watch_;
  Activity start_;
};

}  // namespace approx
