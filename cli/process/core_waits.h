// How long threads were ready to run and had no core, as the kernel's scheduler counts it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace approx {

// By the number of the thread, since its beginning.
using CoreWaits = std::map<pid_t, std::chrono::nanoseconds>;

// The time in a text of /proc/PID/task/TID/schedstat: "ran waited slices", nanoseconds both.
// Nothing where it is no such text, or all zero: such a kernel does not count.
std::optional<std::chrono::nanoseconds> waited_in(std::string_view schedstat);

// The waits of all living threads of a process, from its folder `tasks`. Empty where the
// kernel does not count.
std::optional<CoreWaits> read_core_waits(const std::string& tasks = "/proc/self/task");

// The most that one of the threads of `after` waited since `before`. One thread alone: those of one
// computation wait for each other, and what they waited for cores side by side was lost once.
std::chrono::nanoseconds longest_wait(const CoreWaits& before, const CoreWaits& after);

// What /proc/stat says, in seconds since the machine booted; counted in ticks.
struct CpuTimes {
  double busy_s = 0;               // all processes, and `stolen_s`
  std::map<int, double> stolen_s;  // by CPU: a virtual one was ready and the host ran another
};
CpuTimes cpu_times(std::string_view stat, double ticks_per_second);

}  // namespace approx
