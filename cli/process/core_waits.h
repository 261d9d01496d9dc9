// How long threads were ready to run but had no core, as counted by the kernel's scheduler.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace approx {

// Waits since a thread's start, by thread id.
using CoreWaits = std::map<pid_t, std::chrono::nanoseconds>;

// The waiting time in a text of /proc/PID/task/TID/schedstat: "ran waited slices", the first two in
// nanoseconds. Nothing for any other text, and for all zeros: such a kernel does not count.
std::optional<std::chrono::nanoseconds> waited_in(std::string_view schedstat);

// The waits of all living threads of a process, from its folder `tasks`. Empty where the
// kernel does not count.
std::optional<CoreWaits> read_core_waits(const std::string& tasks = "/proc/self/task");

// The longest wait of one thread of `after` since `before`. It is not a sum: threads of one
// computation wait for each other, so time that they waited side by side was lost only once.
std::chrono::nanoseconds longest_wait(const CoreWaits& before, const CoreWaits& after);

// CPU times from /proc/stat in seconds since boot; they are counted in ticks.
struct CpuTimes {
  double busy_s = 0;  // all processes, and `stolen_s`
  // By CPU, the time in which a virtual CPU was ready but the host ran another one.
  std::map<int, double> stolen_s;
};
CpuTimes cpu_times(std::string_view stat, double ticks_per_second);

}  // namespace approx
