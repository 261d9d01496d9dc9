// Sums over a block of threads.
#pragma once

#include "kernels/gpu/kernel.h"

namespace approx {

// The sum over a block of one value per thread, valid in thread 0. `shared` holds a value for every
// warp, and must not be in use any more.
template <typename T, typename Thread>
APPROX_GPU T sum_of_block(Thread& thread, T value, T* shared) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value += thread.shuffle_down(value, lanes);
  if (thread.index() % kWarp == 0) shared[thread.index() / kWarp] = value;
  thread.barrier();
  T sum = 0;
  if (thread.index() == 0) {
    for (int warp = 0; warp < thread.threads() / kWarp; ++warp) sum += shared[warp];
  }
  return sum;
}

// Adds the counts of a block's threads, each in its registers, to `sum` in global memory.
template <typename Thread>
APPROX_GPU void add_counts(Thread& thread, int32_t count, int64_t* sum) {
  const int32_t all = sum_of_block(thread, count, thread.template shared<int32_t>());
  if (thread.index() == 0) thread.add(sum, all);
}

}  // namespace approx
