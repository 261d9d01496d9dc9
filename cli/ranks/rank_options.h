// A user's choices for runs of several ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "cli/process/launcher.h"

namespace approx {

struct RankOptions {
  std::optional<Launcher> launcher;  // nothing: default_launcher()
  bool oversubscribe = false;        // accuracy runs may have more ranks x threads than cores
  // How long a rank waits for the others in one exchange.
  std::chrono::nanoseconds timeout{std::chrono::minutes(5)};
};

// The launcher for this place. It is srun inside an allocation of Slurm if that srun knows PMIx, by
// which Open MPI's processes find each other. Otherwise it is mpirun.
Launcher default_launcher();

// Whether the coordinator chooses the cores of ranks; otherwise the launcher does.
bool pins_ranks(const RankOptions& ranks);

// Throws Error(kUsage) where the launcher of `ranks` is not installed.
void check_launcher(const RankOptions& ranks);

// The number of cores that the ranks may use: of this machine, as far as this process may use them,
// or of the allocation.
int64_t cores_for_ranks(const RankOptions& ranks);

}  // namespace approx
