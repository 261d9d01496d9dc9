// Kernel benchmarks as a table.
#pragma once

#include <vector>

#include "results/records/kernels.h"
#include "results/render/table.h"

namespace approx {

// The table that `bench-kernel` prints of its new results and `report kernels` of stored ones.
// People do not see columns that no line has a value for.
Table kernel_table(const std::vector<KernelLine>& lines);

}  // namespace approx
