// Checks that the kernels' parallel loops are parallel: at::parallel_for compiled without OpenMP is
// not, silently.
#pragma once

#include <cstdint>

namespace approx {

// The number of threads that share a parallel loop of this module. It should equal
// at::get_num_threads.
int64_t threads_at_work();

}  // namespace approx
