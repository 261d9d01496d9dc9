#include "kernels/threads.h"

#include <ATen/Parallel.h>

#include <atomic>

namespace approx {

int64_t threads_at_work() {
  std::atomic<int64_t> shares = 0;  // each thread is called once, with a share of the range
  at::parallel_for(0, 1 << 16, 1, [&](int64_t, int64_t) { ++shares; });
  return shares;
}

}  // namespace approx
