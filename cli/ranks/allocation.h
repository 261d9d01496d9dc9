// What Slurm says of an allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace approx {

// The processors of "16(x3),8": 16 on each of three nodes, 8 on one more. Nothing of another text.
std::optional<int64_t> allocated_cpus(std::string_view cpus_per_node);

}  // namespace approx
