// How a block of threads lies over the planes of neighbouring channels of an image, [plane,C] in
// memory: the lanes along the channels first, so that a warp reads what is side by side, and what
// is left of the threads shares the pixels.
#pragma once

#include "kernels/gpu/kernel.h"

namespace approx {

struct PlaneBlocks {
  int64_t images = 0, plane = 0;
  int64_t vectors = 0;  // of neighbouring channels, one for each thread
  int most_threads = 256;
  int least_columns = 1;

  // Vectors side by side in a block, a power of two.
  constexpr int columns() const {
    int columns = least_columns;
    while (columns < kWarp && columns < vectors) columns *= 2;
    return columns;
  }

  // No more threads than there are pixels for; `shared` bytes for each.
  Grid grid(size_t shared) const {
    const int64_t enough = columns() * power_of_two_from(plane);
    const int64_t threads = enough < kWarp ? kWarp : enough < most_threads ? enough : most_threads;
    return {.x = images,
            .y = blocks_of(vectors, columns()),
            .threads = static_cast<int>(threads),
            .shared = static_cast<size_t>(threads) * shared};
  }
};

// Where a thread of such a block is. The number of parts is a power of two.
struct PlaneThread {
  int across;       // columns of the block
  int column;       // of the block
  int64_t vector;   // may be beyond the last
  int part, parts;  // pixels part, part + parts, ... are its own

  template <typename Thread>
  APPROX_GPU PlaneThread(const PlaneBlocks& blocks, const Thread& thread)
      : across(blocks.columns()),
        column(thread.index() % across),
        vector(thread.block_y() * across + column),
        part(thread.index() / across),
        parts(thread.threads() / across) {}
};

// Blocks over the rows of a matrix: "images" of as many rows as there are for each.
constexpr PlaneBlocks blocks_of_rows(int64_t rows, int64_t vectors) {
  const int64_t blocks = row_blocks(rows);
  return {blocks, blocks == 0 ? 0 : blocks_of(rows, blocks), vectors};
}

// Calls body(row) for every row of the block that is this thread's.
template <typename Thread, typename Body>
APPROX_GPU void for_own_rows(const Thread& thread, const PlaneBlocks& blocks, const PlaneThread& at,
                             int64_t rows, Body body) {
  const int64_t first = thread.block_x() * blocks.plane;
  const int64_t end = first + blocks.plane < rows ? first + blocks.plane : rows;
  APPROX_UNROLL(4)
  for (int64_t row = first + at.part; row < end; row += at.parts) body(row);
}

// Joins what the parts have, `all` [threads], in an order that depends on the shape alone: halves
// hand over to the other half. Each has written its own; the whole is with part 0 afterwards, for
// which the others wait no more.
template <typename Value, typename Thread, typename Join>
APPROX_GPU void join_parts(Thread& thread, const PlaneThread& own, Value* all, Join join) {
  for (int half = own.parts / 2; half > 0; half /= 2) {
    thread.barrier();
    if (own.part < half) join(all[thread.index()], all[thread.index() + half * own.across]);
  }
}

// Two sums for each of the channels of a vector.
template <typename Real, int kWidth>
struct TwoSums {
  Real first[kWidth], second[kWidth];

  APPROX_GPU void clear() {
    for (int i = 0; i < kWidth; ++i) first[i] = second[i] = 0;
  }
  APPROX_GPU void add(const TwoSums& other) {
    for (int i = 0; i < kWidth; ++i) first[i] += other.first[i], second[i] += other.second[i];
  }
};

}  // namespace approx
