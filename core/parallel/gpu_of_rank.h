// Which GPU of its machine a rank of several computes on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace approx {

// Where a rank stands among those of its machine.
struct LocalRank {
  int64_t rank = 0;       // from 0
  int64_t size = 0;       // how many these are; 0: the launcher does not say
  bool by_slurm = false;  // whose srun may have given each GPUs of its own
};

// By the variables that mpirun and srun set; `variable` returns the value of one. Nothing where
// neither has started this process.
std::optional<LocalRank> local_rank(
    const std::function<std::optional<std::string>(const char* name)>& variable);

// The value of CUDA_VISIBLE_DEVICES with which a rank sees one GPU alone. `visible`: the value that
// it has now, entries of any kind (numbers, UUIDs, names of MIG instances), of which those count
// that come before an empty one or a negative number; nothing: all of the machine's, of which there
// are `gpus`, nothing: nobody knows. Rank r takes the r-th. Under Slurm ranks that were given fewer
// than they are have them to themselves, and each takes of its own; whether that is so is seen once
// all are asked. Throws Error(kDevice) where there are too few: of ranks whose launcher says how
// many they are the same one for all.
std::string gpu_of_rank(const LocalRank& local, const std::optional<std::string>& visible,
                        const std::optional<int64_t>& gpus);

}  // namespace approx
