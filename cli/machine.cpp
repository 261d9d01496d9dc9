#include "cli/machine.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "base/numbers.h"

namespace approx {
namespace {

std::string top_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// The value of `key : value` or `key: value`, "" where there is none.
std::string value_in(const std::string& path, std::string_view key) {
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    if (!line.starts_with(key)) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

std::vector<std::string> instruction_sets(const std::string& cpuinfo) {
  std::string flags = value_in(cpuinfo, "flags");
  if (flags.empty()) flags = value_in(cpuinfo, "Features");  // ARM
  std::vector<std::string> found;
  std::istringstream words(flags);
  std::string word;
  while (words >> word) {
    const bool wanted = word.starts_with("avx") || word.starts_with("amx") || word == "fma" ||
                        word == "f16c" || word == "sse4_2" || word.starts_with("sve") ||
                        word == "asimd" || word == "bf16" || word == "i8mm";
    if (wanted) found.push_back(word);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Kibibytes of a line of meminfo, as bytes.
int64_t memory(const std::string& meminfo, std::string_view key) {
  std::istringstream line(value_in(meminfo, key));
  int64_t kib = 0;
  line >> kib;
  return kib * 1024;
}

// Threads of one core name the same siblings.
int64_t physical_cores(const std::string& cpus) {
  std::set<std::string> cores;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(cpus, ignored)) {
    const auto siblings = top_line(entry.path() / "topology/thread_siblings_list");
    if (!siblings.empty()) cores.insert(siblings);
  }
  return static_cast<int64_t>(cores.size());
}

// "200000 100000": so many microseconds of each so many; "max ...": no limit.
std::optional<double> cpu_limit(const std::string& path) {
  std::istringstream line(top_line(path));
  double quota = 0, period = 0;
  if (!(line >> quota >> period) || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

Machine read_machine(const std::string& root) {
  const std::string proc = root + "/proc", sys = root + "/sys";
  Machine machine;
  machine.id = top_line(root + "/etc/machine-id");
  machine.boot_id = top_line(proc + "/sys/kernel/random/boot_id");
  machine.cpu_model = value_in(proc + "/cpuinfo", "model name");
  machine.instruction_sets = instruction_sets(proc + "/cpuinfo");
  machine.cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  machine.physical_cores = physical_cores(sys + "/devices/system/cpu");
  machine.governor = top_line(sys + "/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::istringstream load(top_line(proc + "/loadavg"));
  if (double minute = 0; load >> minute) machine.load = minute;
  machine.ram_bytes = memory(proc + "/meminfo", "MemTotal");
  machine.available_bytes = memory(proc + "/meminfo", "MemAvailable");
  machine.memory_limit_bytes = parse_integer(top_line(sys + "/fs/cgroup/memory.max"), 0);
  machine.cpu_limit = cpu_limit(sys + "/fs/cgroup/cpu.max");
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ..."
  std::istringstream words(top_line(proc + "/driver/nvidia/version"));
  std::string word;
  while (machine.nvidia_driver.empty() && words >> word) {
    const bool is_version =
        word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos;
    if (is_version) machine.nvidia_driver = word;
  }
  return machine;
}

}  // namespace approx
