// Kernel benchmarks as a table.
#pragma once

#include <vector>

#include "results/records/kernels.h"
#include "results/render/table.h"

namespace approx {

// What `bench-kernel` prints of what it has just measured and `report kernels` of what is stored.
// What is known of no line is not shown to people.
Table kernel_table(const std::vector<KernelLine>& lines);

}  // namespace approx
