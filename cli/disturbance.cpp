#include "cli/disturbance.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>

namespace approx {
namespace {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
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

}  // namespace

Disturbance::Disturbance() : start_(read()) {}

Disturbance::Reading Disturbance::read() {
  Reading reading;
  std::ifstream stat("/proc/stat");
  std::string cpu;
  // user nice system idle iowait irq softirq steal; steal is time that another
  // guest took.
  double ticks[8] = {};
  stat >> cpu;
  for (auto& value : ticks) stat >> value;
  const auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  reading.busy_s = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]) / per_second;
  for (const auto whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(whose, &usage);
    reading.ours_s += static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                      1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  }
  reading.steady_s = seconds(CLOCK_MONOTONIC);
  reading.boot_s = seconds(CLOCK_BOOTTIME);
  reading.throttled_s = throttled_seconds();
  return reading;
}

std::vector<std::string> Disturbance::taints() const {
  const Reading end = read();
  std::vector<std::string> reasons;
  const double wall = std::max(end.steady_s - start_.steady_s, 1e-3);
  const double others = ((end.busy_s - start_.busy_s) - (end.ours_s - start_.ours_s)) / wall;
  // Both are counted in ticks of 10 ms, which says nothing below a fifth of a
  // second.
  if (wall > 0.2 && others > 0.05) {
    reasons.push_back(fmt::format("other processes used {:.2f} cores", others));
  }
  const double slept = (end.boot_s - end.steady_s) - (start_.boot_s - start_.steady_s);
  if (slept > 0.01) reasons.push_back(fmt::format("the machine slept {:.1f} s", slept));
  const double throttled = end.throttled_s - start_.throttled_s;
  if (throttled > 0.01 * wall) {
    reasons.push_back(fmt::format("held back {:.2f} s by the CPU limit of its cgroup", throttled));
  }
  return reasons;
}

}  // namespace approx
