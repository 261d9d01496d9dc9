#include "cli/process/disturbance.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "cli/process/machine_cores.h"

namespace approx {
namespace {

constexpr double kMostWait = 0.02;     // of the time
constexpr double kLeastWait_s = 2e-3;  // what starting and ending a thread may take
constexpr double kMostStolen = 0.02, kStolenTicks = 3;
constexpr double kMostOfOthers = 0.05, kTicksOfOthers = 5;
constexpr double kMostThrottled = 0.01;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// Only cgroup version 2, where a container sees its own group as the root.
double throttled_seconds() {
  std::ifstream in("/sys/fs/cgroup/cpu.stat");
  std::string key;
  double value = 0;
  while (in >> key >> value) {
    if (key == "throttled_usec") return value * 1e-6;
  }
  return 0;
}

double used_seconds() {
  double used = 0;
  for (const auto whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(whose, &usage);
    used += static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
            1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  }
  return used;
}

double wall_of(const Activity& before, const Activity& after) {
  return std::max(after.steady_s - before.steady_s, 1e-3);
}

double others_s(const Activity& before, const Activity& after) {
  return (after.cpu.busy_s - before.cpu.busy_s) - (after.ours_s - before.ours_s);
}

// For the CPU that lost most.
double stolen_s(const Activity& before, const Activity& after, const std::vector<int>& cpus) {
  double most = 0;
  for (const int cpu : cpus) {
    const auto from = before.cpu.stolen_s.find(cpu), to = after.cpu.stolen_s.find(cpu);
    if (from == before.cpu.stolen_s.end() || to == after.cpu.stolen_s.end()) continue;
    most = std::max(most, to->second - from->second);
  }
  return most;
}

}  // namespace

CoreWait core_wait(const Activity& before, const Activity& after) {
  const double wall = wall_of(before, after);
  if (before.waits && after.waits) {
    return {.measure = "schedstat",
            .share = seconds(longest_wait(*before.waits, *after.waits)) / wall};
  }
  return {.measure = "ticks", .share = std::max(others_s(before, after), 0.0) / wall};
}

std::vector<std::string> disturbances(const Activity& before, const Activity& after,
                                      const std::vector<int>& cpus, double tick_s) {
  std::vector<std::string> reasons;
  const double wall = wall_of(before, after);
  const CoreWait wait = core_wait(before, after);
  const double waited = wait.share * wall;
  if (before.waits && after.waits) {
    if (wait.share > kMostWait && waited > kLeastWait_s) {
      reasons.push_back(fmt::format("waited for a core {:.1f} % of the time ({:.3f} of {:.2f} s)",
                                    100 * wait.share, waited, wall));
    }
    const double stolen = stolen_s(before, after, cpus);
    if (stolen > kMostStolen * wall && stolen > (kStolenTicks + 0.5) * tick_s) {
      reasons.push_back(fmt::format(
          "the host of this virtual machine took {:.1f} % of a core of it", 100 * stolen / wall));
    }
  } else if (wait.share > kMostOfOthers && waited > (kTicksOfOthers + 0.5) * tick_s) {
    reasons.push_back(fmt::format("other processes used {:.2f} cores", wait.share));
  }
  const double throttled = after.throttled_s - before.throttled_s;
  if (throttled > kMostThrottled * wall) {
    reasons.push_back(fmt::format("held back {:.2f} s by the CPU limit of its cgroup", throttled));
  }
  return reasons;
}

Disturbance::Disturbance(Computing by)
    : by_(by),
      cpus_(allowed_cpus()),
      tick_s_(1.0 / static_cast<double>(sysconf(_SC_CLK_TCK))),
      start_(read()) {}

Activity Disturbance::read() const {
  Activity activity;
  std::ifstream stat("/proc/stat");
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  activity.cpu = cpu_times(text, 1 / tick_s_);
  activity.ours_s = used_seconds();
  if (by_ == Computing::kThreads) activity.waits = read_core_waits();
  activity.steady_s = seconds(read_clocks().monotonic);
  activity.throttled_s = throttled_seconds();
  return activity;
}

std::vector<std::string> Disturbance::taints() const {
  auto reasons = disturbances(start_, read(), cpus_, tick_s_);
  const auto paused = watch_.paused();
  if (paused.count() > 0) {
    reasons.push_back(
        fmt::format("paused for {:.1f} s (stopped, or the machine slept)", seconds(paused)));
  }
  return reasons;
}

}  // namespace approx
