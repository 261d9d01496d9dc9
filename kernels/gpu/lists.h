// How all threads of a grid share a list.
#pragma once

#include "kernels/gpu/loads.h"

namespace approx {

// Blocks whose threads share a list, no more than there are items for.
constexpr Grid grid_of_list(int64_t items, int64_t most_blocks, int threads, size_t shared) {
  const int64_t enough = blocks_of(items, threads);
  return {.x = enough < most_blocks ? enough : most_blocks, .threads = threads, .shared = shared};
}

// Several for all threads that a GPU has room for; each may add to one number.
constexpr int64_t kMostListBlocks = 2048;

// Which thread of such a grid this is, and of how many.
template <typename Thread>
APPROX_GPU int64_t index_in_grid(const Thread& thread) {
  return thread.block_x() * thread.threads() + thread.index();
}
template <typename Thread>
APPROX_GPU int64_t threads_of_grid(const Thread& thread) {
  return thread.blocks() * thread.threads();
}

// Calls body(at, values) for each kWidth of the numbers from[0], from[1], ... that are this
// thread's; what is left behind the last whole vector is nobody's.
template <int kWidth, int kMoved, int kTurns = 4, typename Number, typename Thread, typename Body>
APPROX_GPU void for_own_vectors(const Thread& thread, const Number* from, int64_t count,
                                Body body) {
  for_loaded<kTurns>(
      index_in_grid(thread), count / kWidth, threads_of_grid(thread),
      [&](int64_t i) { return load_by<kWidth, kMoved>(from + i * kWidth); },
      [&](int64_t i, const Neighbours<Number, kWidth>& all) { body(i * kWidth, all.floats()); });
}

}  // namespace approx
