// Distributes a list over all threads of a grid.
#pragma once

#include "kernels/gpu/loads.h"

namespace approx {

// A grid for a list, with no more blocks than there are items for.
constexpr Grid grid_of_list(int64_t items, int64_t most_blocks, int threads, size_t shared) {
  const int64_t enough = blocks_of(items, threads);
  return {.x = enough < most_blocks ? enough : most_blocks, .threads = threads, .shared = shared};
}

// The most blocks of such a grid: more than a GPU runs at a time, but few enough that each may add
// to one number.
constexpr int64_t kMostListBlocks = 2048;

// The index of this thread in such a grid, and the number of threads.
template <typename Thread>
APPROX_GPU int64_t index_in_grid(const Thread& thread) {
  return thread.block_x() * thread.threads() + thread.index();
}
template <typename Thread>
APPROX_GPU int64_t threads_of_grid(const Thread& thread) {
  return thread.blocks() * thread.threads();
}

// Calls body(at, values) for each vector of kWidth of the numbers from[0], from[1], ... that
// belongs to this thread. Numbers after the last whole vector belong to no thread.
template <int kWidth, int kMoved, int kTurns = 4, typename Number, typename Thread, typename Body>
APPROX_GPU void for_own_vectors(const Thread& thread, const Number* from, int64_t count,
                                Body body) {
  for_loaded<kTurns>(
      index_in_grid(thread), count / kWidth, threads_of_grid(thread),
      [&](int64_t i) { return load_by<kWidth, kMoved>(from + i * kWidth); },
      [&](int64_t i, const Neighbours<Number, kWidth>& all) { body(i * kWidth, all.floats()); });
}

}  // namespace approx
