// What else went on while something was timed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/process/core_waits.h"
#include "cli/process/pause_watch.h"

namespace approx {

// The counters of one moment, all in seconds but `waits`.
struct Activity {
  double steady_s = 0;
  std::optional<CoreWaits> waits;  // of this process's threads; nothing: the kernel does not count
  CpuTimes cpu;                    // of the machine
  double ours_s = 0;               // this process, its threads, and children that have ended
  double throttled_s = 0;          // by the CPU limit of our cgroup
};

// For which share of a timing it had no core.
struct CoreWait {
  // "schedstat": the longest that one of its threads waited, by the scheduler. "ticks": what other
  // processes used, in cores, which need not have been its own.
  std::string measure;
  double share = 0;
};

CoreWait core_wait(const Activity& before, const Activity& after);

// What disturbed what was timed between the two: one reason a line that a person understands, none
// where nothing did. Waiting for cores counts above 2 %, what others used (where that alone is
// known) above 5 % of a core and five ticks of `tick_s`, what the host of a virtual machine took of
// one of `cpus` above 2 % and three ticks, the CPU limit above 1 %.
std::vector<std::string> disturbances(const Activity& before, const Activity& after,
                                      const std::vector<int>& cpus, double tick_s);

// Measures from its construction on.
class Disturbance {
 public:
  // Who computes: the threads of this process, or processes that it has started and whose threads
  // nobody can ask once they have ended.
  enum class Computing { kThreads, kChildren };

  explicit Disturbance(Computing by = Computing::kThreads);

  // What disturbed it so far: disturbances(), and that it was paused.
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
