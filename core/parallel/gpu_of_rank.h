// Chooses the GPU that each of several ranks on a machine computes on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace approx {

// The position of a rank among the ranks of its machine.
struct LocalRank {
  int64_t rank = 0;       // from 0
  int64_t size = 0;       // the number of these ranks; 0: the launcher does not say
  bool by_slurm = false;  // Slurm's srun may have given each rank GPUs of its own
};

// The position as the variables of mpirun and srun say; `variable` returns the value of one.
// Nothing if neither has started this process.
std::optional<LocalRank> local_rank(
    const std::function<std::optional<std::string>(const char* name)>& variable);

// The value of CUDA_VISIBLE_DEVICES with which a rank sees only its own GPU. Rank r takes the r-th
// entry.
// - `visible` is the value now. Its entries are of any kind: numbers, UUIDs, names of MIG
//   instances. An empty entry or a negative number ends the list. Nothing: all GPUs of the machine.
// - `gpus` is the number of the machine's GPUs; nothing: not known.
// Slurm may give each rank GPUs of its own. It has if there are fewer than ranks, and each rank
// then takes one of its own. This can be checked only once all ranks have chosen. Throws
// Error(kDevice) if there are too few GPUs. The error is equal on all ranks if the launcher says
// how many there are.
std::string gpu_of_rank(const LocalRank& local, const std::optional<std::string>& visible,
                        const std::optional<int64_t>& gpus);

}  // namespace approx
