#include "cli/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "cli/machine.h"
#include "core/config/run_config.h"
#include "generated/build_info.h"
#include "generated/experiment_digests.h"

namespace approx {

std::string program_commit() {
  const std::string sha = APPROX_GIT_SHA;
  return sha == "unknown" ? "" : sha;
}

Json program_environment() {
  utsname system{};
  uname(&system);
  const Machine machine = read_machine();
  const std::string& cpu = machine.cpu_model;
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  const int64_t ram =
      static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  const std::string identity =
      fmt::format("{}\n{}\n{}\n{}\n{}", machine.id, system.nodename, cpu, cores, ram);
  Json load = nullptr;
  double averages[3];
  if (getloadavg(averages, 3) == 3) load = {averages[0], averages[1], averages[2]};
  return Json{
      {"hostname", system.nodename},
      {"fingerprint", sha256_hex(identity)},
      {"cpu_model", cpu.empty() ? system.machine : cpu},
      {"instruction_sets", machine.instruction_sets},
      {"n_cores", cores},
      {"physical_cores", machine.physical_cores},
      {"cpu_limit", machine.cpu_limit ? Json(*machine.cpu_limit) : Json(nullptr)},
      {"ram_bytes", ram},
      {"available_bytes", machine.available_bytes},
      {"memory_limit_bytes",
       machine.memory_limit_bytes ? Json(*machine.memory_limit_bytes) : Json(nullptr)},
      {"governor", machine.governor},
      {"kernel", fmt::format("{} {}", system.sysname, system.release)},
      {"boot_id", machine.boot_id},
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

void require_clean(const std::vector<std::string>& files) {
  constexpr const char* flag = "--require-clean";
  const auto sha = program_commit();
  if (sha.empty()) {
    throw usage_error("{}: the program does not know its commit; build it inside its repository",
                      flag);
  }
  if (APPROX_GIT_DIRTY != 0) {
    throw usage_error(
        "{}: the program was built from sources with uncommitted changes ({}-dirty); commit them "
        "and build again",
        flag, sha.substr(0, 12));
  }
  const auto changed = changed_experiments(files);
  if (changed.empty()) return;
  throw usage_error("{}: changed since the program was built: {}; commit and build again", flag,
                    fmt::join(changed, ", "));
}

void mark_changed(Json& environment, const std::vector<std::string>& changed) {
  if (changed.empty()) return;
  environment["changed_files"] = changed;
  environment["dirty"] = true;
}

Json merged_environment(const Json& engine, Json program) {
  Json merged = std::move(program);
  merged["kernel_rules"] = kernel_rules_version();
  if (engine.is_object()) merged.update(engine);
  return merged;
}

}  // namespace approx
