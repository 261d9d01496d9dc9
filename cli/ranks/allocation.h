// The size of an allocation of Slurm.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace approx {

// The number of processors in a text such as "16(x3),8": 16 on each of three nodes, 8 on one more.
// Nothing for a text of another form.
std::optional<int64_t> allocated_cpus(std::string_view cpus_per_node);

}  // namespace approx
