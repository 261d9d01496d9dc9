// Draws of a stream, four at a time.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/rng.h"

namespace approx {

constexpr int kDrawThreads = 256;

inline Grid grid_of_draws(int64_t count) {
  return {.x = blocks_of(blocks_of(count, 4), kDrawThreads), .threads = kDrawThreads};
}

// Calls `drawn` with the four words of one block of the stream per thread, and writes its results
// to `out` [count]. `kFours`: `out` is aligned so that one instruction writes all four.
template <bool kFours, typename Thread, typename Drawn>
APPROX_GPU void write_draws(const Thread& thread, const Rng& rng, int64_t count, float* out,
                            Drawn drawn) {
  const int64_t block = thread.block_x() * thread.threads() + thread.index(), at = 4 * block;
  if (at >= count) return;
  const Floats<4> four = drawn(rng.block(static_cast<uint32_t>(block)));
  if (kFours && at + 4 <= count) return store<4>(out + at, four);
  for (int i = 0; i < 4 && at + i < count; ++i) out[at + i] = four.v[i];
}

}  // namespace approx
