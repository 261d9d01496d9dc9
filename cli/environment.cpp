#include "cli/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/digest.h"
#include "base/error.h"
#include "core/config/run_config.h"
#include "generated/build_info.h"
#include "generated/experiment_digests.h"

namespace approx {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// The value of `key : value` or `key: value` in a file of /proc, "" when there
// is none.
std::string proc_value(const std::string& path, std::string_view key) {
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

// Those that the kernels and LibTorch choose between, out of the flags that the
// kernel reports.
std::vector<std::string> instruction_sets() {
  std::string flags = proc_value("/proc/cpuinfo", "flags");
  if (flags.empty()) flags = proc_value("/proc/cpuinfo", "Features");  // ARM
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

}  // namespace

Json program_environment() {
  utsname system{};
  uname(&system);
  const std::string cpu = proc_value("/proc/cpuinfo", "model name");
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  const int64_t ram =
      static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  const std::string identity = fmt::format("{}\n{}\n{}\n{}\n{}", first_line("/etc/machine-id"),
                                           system.nodename, cpu, cores, ram);
  Json load = nullptr;
  double averages[3];
  if (getloadavg(averages, 3) == 3) load = {averages[0], averages[1], averages[2]};
  return Json{
      {"hostname", system.nodename},
      {"fingerprint", sha256_hex(identity)},
      {"cpu_model", cpu.empty() ? system.machine : cpu},
      {"instruction_sets", instruction_sets()},
      {"n_cores", cores},
      {"ram_bytes", ram},
      {"governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
      {"kernel", fmt::format("{} {}", system.sysname, system.release)},
      {"boot_id", first_line("/proc/sys/kernel/random/boot_id")},
      {"load_average", load},
      {"version", APPROX_VERSION},
      {"git_sha", APPROX_GIT_SHA},
      {"dirty", APPROX_GIT_DIRTY != 0},
      {"compiler", APPROX_COMPILER},
      {"flags", APPROX_BUILD_FLAGS},
      {"build_type", APPROX_BUILD_TYPE},
  };
}

std::vector<std::string> changed_experiments(const std::vector<std::string>& files) {
  std::istringstream known(APPROX_EXPERIMENT_DIGESTS);
  std::vector<std::string> changed;
  std::string name, digest;
  while (known >> name >> digest) {
    for (const auto& file : files) {
      std::error_code error;
      const auto path = std::filesystem::absolute(file, error).lexically_normal().string();
      if (error || !path.ends_with("/" + name) || !std::filesystem::exists(path, error)) continue;
      if (file_digest_hex("sha256", path) != digest) changed.push_back(name);
    }
  }
  return changed;
}

void mark_changed(Json& environment, const std::vector<std::string>& changed) {
  if (changed.empty()) return;
  environment["changed_files"] = changed;
  environment["dirty"] = true;
}

Json merged_environment(const Json& engine) {
  Json merged = program_environment();
  merged["kernel_rules"] = kernel_rules_version();
  if (engine.is_object()) merged.update(engine);
  return merged;
}

}  // namespace approx
