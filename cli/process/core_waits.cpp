#include "cli/process/core_waits.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/numbers.h"
#include "base/text.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

std::string whole_text(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::optional<std::chrono::nanoseconds> waited_in(std::string_view schedstat) {
  std::istringstream in{std::string(schedstat)};
  int64_t ran = 0, waited = 0, slices = 0;
  if (!(in >> ran >> waited >> slices) || ran < 0 || waited < 0) return std::nullopt;
  if (ran == 0 && waited == 0 && slices == 0) return std::nullopt;
  return std::chrono::nanoseconds(waited);
}

std::optional<CoreWaits> read_core_waits(const std::string& tasks) {
  CoreWaits waits;
  std::error_code error;
  for (fs::directory_iterator entry(tasks, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto number = parse_integer(entry->path().filename().string());
    const auto waited = waited_in(whole_text(entry->path() / "schedstat"));
    // A thread that has just ended, or has not run yet, says nothing.
    if (number && waited) waits.emplace(static_cast<pid_t>(*number), *waited);
  }
  if (waits.empty()) return std::nullopt;
  return waits;
}

std::chrono::nanoseconds longest_wait(const CoreWaits& before, const CoreWaits& after) {
  std::chrono::nanoseconds longest{0};
  for (const auto& [thread, waited] : after) {
    const auto known = before.find(thread);
    longest = std::max(longest, known == before.end() ? waited : waited - known->second);
  }
  return longest;
}

CpuTimes cpu_times(std::string_view stat, double ticks_per_second) {
  CpuTimes times;
  for (const auto line : split(stat, "\n")) {
    if (!line.starts_with("cpu")) continue;
    std::istringstream words{std::string(line)};
    std::string name;
    // user nice system idle iowait irq softirq steal
    std::array<double, 8> ticks{};
    words >> name;
    for (auto& value : ticks) words >> value;
    const double stolen = ticks[7] / ticks_per_second;
    if (const auto cpu = parse_integer(std::string_view(name).substr(3))) {
      times.stolen_s[static_cast<int>(*cpu)] = stolen;
    } else {
      times.busy_s =
          (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / ticks_per_second + stolen;
    }
  }
  return times;
}

}  // namespace approx
