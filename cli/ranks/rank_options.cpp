#include "cli/ranks/rank_options.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "cli/machine.h"
#include "cli/process/machine_cores.h"
#include "cli/ranks/allocation.h"
#include "cli/slurm/cluster.h"

namespace approx {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// As a shell finds it.
bool is_installed(std::string_view program) {
  const std::string path = variable("PATH");
  return std::ranges::any_of(split(path, ":"), [&](std::string_view folder) {
    return access(fmt::format("{}/{}", folder, program).c_str(), X_OK) == 0;
  });
}

bool in_allocation() { return !variable("SLURM_JOB_ID").empty(); }

}  // namespace

Launcher default_launcher() {
  return in_allocation() && is_installed(name(Launcher::kSrun)) && srun_knows_pmix()
             ? Launcher::kSrun
             : Launcher::kMpirun;
}

bool pins_ranks(const RankOptions& ranks) {
  return ranks.launcher != Launcher::kSrun && !ranks.oversubscribe;
}

void check_launcher(const RankOptions& ranks) {
  const Launcher launcher = ranks.launcher.value_or(Launcher::kMpirun);
  if (launcher == Launcher::kSrun && !in_allocation()) {
    throw usage_error(
        "--launcher srun: this is no allocation of Slurm; use sweep --slurm, or salloc first");
  }
  if (is_installed(name(launcher))) return;
  throw usage_error("runs of several ranks are started by {}, which is not installed: {}",
                    name(launcher),
                    launcher == Launcher::kSrun
                        ? "give --launcher mpirun"
                        : "install Open MPI (apt-get install openmpi-bin), or give ranks = 1");
}

int64_t cores_for_ranks(const RankOptions& ranks) {
  if (ranks.launcher == Launcher::kSrun) {
    return allocated_cpus(variable("SLURM_JOB_CPUS_PER_NODE"))
        .value_or(std::numeric_limits<int64_t>::max());
  }
  auto cores = static_cast<int64_t>(read_cores(allowed_cpus()).size());
  if (const auto limit = read_machine().cpu_limit) {
    cores = std::min(cores, std::max<int64_t>(1, static_cast<int64_t>(std::floor(*limit))));
  }
  return cores;
}

}  // namespace approx
