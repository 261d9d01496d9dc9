// The program that starts the ranks of a run; a worker's task names it.
#pragma once

#include <array>

#include "base/enum_text.h"

namespace approx {

// Open MPI's mpirun, or srun inside an allocation of Slurm.
enum class Launcher { kMpirun, kSrun };

constexpr auto enum_texts(Launcher) {
  return std::to_array<EnumText<Launcher>>(
      {{Launcher::kMpirun, "mpirun"}, {Launcher::kSrun, "srun"}});
}

}  // namespace approx
