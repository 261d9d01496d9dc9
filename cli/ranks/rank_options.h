// What a user says of how runs of several ranks are done.
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

// srun inside an allocation of Slurm whose srun knows PMIx, by which Open MPI's processes find each
// other; else mpirun.
Launcher default_launcher();

// Whether ranks compute on cores that their coordinator chooses, or on those of the launcher.
bool pins_ranks(const RankOptions& ranks);

// Throws Error(kUsage) where the launcher of `ranks` is not installed.
void check_launcher(const RankOptions& ranks);

// How many cores its ranks may use: of this machine's those that this process may, or those of the
// allocation.
int64_t cores_for_ranks(const RankOptions& ranks);

}  // namespace approx
