// Whether the kernels' parallel loops are parallel: at::parallel_for compiled without OpenMP is
// not, silently.
#pragma once

#include <cstdint>

namespace approx {

// The number of threads that shared a parallel loop of this module just now; that of
// at::get_num_threads, if all is well.
int64_t threads_at_work();

}  // namespace approx
