// Assigns a block of threads to the planes of neighbouring channels of an image, [plane,C] in
// memory. Lanes go along the channels first, so that a warp reads neighbouring memory. The
// remaining threads share the pixels.
#pragma once

#include "kernels/gpu/loads.h"

namespace approx {

struct PlaneBlocks {
  int64_t images = 0, plane = 0;
  int64_t vectors = 0;  // of neighbouring channels; one per thread
  int most_threads = 256;
  int least_columns = 1, most_columns = kWarp;

  // Number of vectors side by side in a block, a power of two.
  constexpr int columns() const {
    int columns = least_columns;
    while (columns < most_columns && columns < vectors) columns *= 2;
    return columns;
  }

  // A grid with no more threads than there are pixels for; `shared` bytes for each thread.
  Grid grid(size_t shared) const {
    const int64_t enough = columns() * power_of_two_from(plane);
    const int64_t threads = enough < kWarp ? kWarp : enough < most_threads ? enough : most_threads;
    return {.x = images,
            .y = blocks_of(vectors, columns()),
            .threads = static_cast<int>(threads),
            .shared = static_cast<size_t>(threads) * shared};
  }
};

// The place of a thread in such a block. The number of parts is a power of two.
struct PlaneThread {
  int across;       // number of columns of the block
  int column;       // column within the block
  int64_t vector;   // may be beyond the last
  int part, parts;  // it has the pixels part, part + parts, ...

  template <typename Thread>
  APPROX_GPU PlaneThread(const PlaneBlocks& blocks, const Thread& thread)
      : across(blocks.columns()),
        column(thread.index() % across),
        vector(thread.block_y() * across + column),
        part(thread.index() / across),
        parts(thread.threads() / across) {}
};

// Blocks over the rows of a matrix, at most `most_blocks`; an "image" is the rows of one block.
constexpr PlaneBlocks blocks_of_rows(int64_t rows, int64_t vectors,
                                     int64_t most_blocks = kMostRowBlocks) {
  const int64_t enough = row_blocks(rows), blocks = enough < most_blocks ? enough : most_blocks;
  return {blocks, blocks == 0 ? 0 : blocks_of(rows, blocks), vectors};
}

// Blocks over the rows of a matrix, for kernels that leave sums of rows.
constexpr PlaneBlocks blocks_of_summed_rows(int64_t rows, int64_t vectors) {
  const int64_t blocks = sum_blocks(rows);
  return {blocks, blocks == 0 ? 0 : blocks_of(rows, blocks), vectors};
}

// Calls body(row) for every row of the block that belongs to this thread.
template <typename Thread, typename Body>
APPROX_GPU void for_own_rows(const Thread& thread, const PlaneBlocks& blocks, const PlaneThread& at,
                             int64_t rows, Body body) {
  const int64_t first = thread.block_x() * blocks.plane;
  const int64_t end = first + blocks.plane < rows ? first + blocks.plane : rows;
  APPROX_UNROLL(4)
  for (int64_t row = first + at.part; row < end; row += at.parts) body(row);
}

// Calls body(row, load(row)) for those rows, with the loads of for_loaded<kTurns>.
template <int kTurns = 4, typename Thread, typename Load, typename Body>
APPROX_GPU void for_own_rows(const Thread& thread, const PlaneBlocks& blocks, const PlaneThread& at,
                             int64_t rows, Load load, Body body) {
  const int64_t first = thread.block_x() * blocks.plane;
  const int64_t end = first + blocks.plane < rows ? first + blocks.plane : rows;
  for_loaded<kTurns>(first + at.part, end, at.parts, load, body);
}

// Number of rows of a thread that are added up in float; the sums of these are added in double. The
// bound, including squares and the last rounding, is 14 * 2^-24 of the sum of magnitudes
// (kernels/long_sums.h).
constexpr int kShortRows = 12;

// Calls some(begin, end) for the rows first, first + step, ... below end, kShortRows at a time.
template <typename Some>
APPROX_GPU void for_short_sums(int64_t first, int64_t end, int64_t step, Some some) {
  for (; first < end; first += kShortRows * step) {
    const int64_t last = first + kShortRows * step;
    some(first, last < end ? last : end);
  }
}

// Joins values of the parts in shared memory, in an order that depends only on the shape: one half
// hands over to the other half. Each part has written its own value. Part 0 has the result
// afterwards, and the others do not wait for it. Calls join(mine, other) with two threads of the
// block.
template <typename Thread, typename Join>
APPROX_GPU void join_parts(Thread& thread, const PlaneThread& own, Join join) {
  for (int half = own.parts / 2; half > 0; half /= 2) {
    thread.barrier();
    if (own.part < half) join(thread.index(), thread.index() + half * own.across);
  }
}

// kSums sums of every thread of a block, in double. They are in shared memory, where they need no
// registers. A thread adds to them only once for some rows.
template <int kSums>
class SharedSums {
 public:
  static constexpr size_t kBytes = kSums * sizeof(double);  // per thread

  template <typename Thread>
  APPROX_GPU explicit SharedSums(Thread& thread, size_t offset = 0)
      : all_(thread.template shared<double>(offset)),
        threads_(thread.threads()),
        own_(thread.index()) {
    for (int i = 0; i < kSums; ++i) of(i) = 0;
  }

  APPROX_GPU double& of(int sum) const { return all_[sum * threads_ + own_]; }

  // Adds the sums of thread `other` to those of thread `mine`.
  APPROX_GPU void join(int mine, int other) const {
    for (int i = 0; i < kSums; ++i) all_[i * threads_ + mine] += all_[i * threads_ + other];
  }

 private:
  double* all_;  // [kSums,threads]
  int threads_, own_;
};

// One sum, or two, for each of the channels of a vector.
template <typename Real, int kWidth>
struct OneSum {
  static constexpr int kSums = 1, kChannels = kWidth;
  Real sum[kWidth];

  APPROX_GPU void clear() {
    for (int i = 0; i < kWidth; ++i) sum[i] = 0;
  }
  APPROX_GPU void add(const OneSum& other) {
    for (int i = 0; i < kWidth; ++i) sum[i] += other.sum[i];
  }
  APPROX_GPU Real& of(int /*which*/, int i) { return sum[i]; }
};
template <typename Real, int kWidth>
struct TwoSums {
  static constexpr int kSums = 2, kChannels = kWidth;
  Real first[kWidth], second[kWidth];

  APPROX_GPU void clear() {
    for (int i = 0; i < kWidth; ++i) first[i] = second[i] = 0;
  }
  APPROX_GPU void add(const TwoSums& other) {
    for (int i = 0; i < kWidth; ++i) first[i] += other.first[i], second[i] += other.second[i];
  }
  APPROX_GPU Real& of(int which, int i) { return which == 0 ? first[i] : second[i]; }
};

// Sums over the rows of each block of a matrix [rows,channels], in float only, written to `partial`
// [blocks.images,kSums,channels]. The grid is that of `blocks`, with shared memory for the sums.
// The thread's place in it is `at`. Arguments: load(row) loads the thread's channels of a row, and
// add(row, loaded, sums) adds them to sums. The loads of kTurns rows wait together.
template <int kTurns, typename Sums, typename Thread, typename Load, typename Add>
APPROX_GPU void sums_of_rows(Thread& thread, const PlaneBlocks& blocks, const PlaneThread& at,
                             int64_t rows, int64_t channels, float* partial, Load load, Add add) {
  const bool is_one = at.vector < blocks.vectors;
  const int64_t channel = at.vector * Sums::kChannels;
  Sums own;
  own.clear();
  if (is_one) {
    for_own_rows<kTurns>(thread, blocks, at, rows, load,
                         [&](int64_t row, const auto& loaded) { add(row, loaded, own); });
  }
  Sums* all = thread.template shared<Sums>();
  all[thread.index()] = own;
  join_parts(thread, at, [&](int mine, int other) { all[mine].add(all[other]); });
  if (at.part != 0 || !is_one) return;
  for (int which = 0; which < Sums::kSums; ++which) {
    float* sums = partial + (thread.block_x() * Sums::kSums + which) * channels + channel;
    for (int i = 0; i < Sums::kChannels; ++i) sums[i] = all[thread.index()].of(which, i);
  }
}

// Sums of any length (kernels/long_sums.h) over the rows of each block of a matrix [rows,channels],
// written to `partial` [sum_blocks,kSums,channels]. The grid is that of blocks_of_summed_rows, with
// SharedSumsOf<Sums>::kBytes for each thread. The thread's place in it is `at`. Arguments:
// - load(index) loads one vector of a row; several loads are in flight at a time.
// - add(index, loaded, sums) adds the vector to sums of a few rows.
// - close(begin, end, step, sums, which, i) returns one of these sums, over the rows begin,
//   begin + step, ... below end.
template <typename Sums>
using SharedSumsOf = SharedSums<Sums::kSums * Sums::kChannels>;

template <typename Sums, typename Thread, typename Partial, typename Load, typename Add,
          typename Close>
APPROX_GPU void long_sums_of_rows(Thread& thread, const PlaneThread& at, int64_t rows,
                                  int64_t channels, Partial* partial, Load load, Add add,
                                  Close close) {
  const PlaneBlocks blocks = blocks_of_summed_rows(rows, channels / Sums::kChannels);
  const bool is_one = at.vector < blocks.vectors;
  const int64_t channel = at.vector * Sums::kChannels;
  const SharedSumsOf<Sums> all(thread);
  Sums own;
  own.clear();
  const int64_t first = thread.block_x() * blocks.plane;
  const int64_t end = first + blocks.plane < rows ? first + blocks.plane : rows;
  for_short_sums(first + at.part, is_one ? end : 0, at.parts, [&](int64_t begin, int64_t last) {
    for_loaded(
        begin, last, at.parts, [&](int64_t row) { return load(row * channels + channel); },
        [&](int64_t row, const auto& loaded) { add(row * channels + channel, loaded, own); });
    for (int which = 0; which < Sums::kSums; ++which) {
      for (int i = 0; i < Sums::kChannels; ++i) {
        all.of(which * Sums::kChannels + i) += close(begin, last, int64_t{at.parts}, own, which, i);
      }
    }
    own.clear();
  });
  join_parts(thread, at, [&](int mine, int other) { all.join(mine, other); });
  if (at.part != 0 || !is_one) return;
  for (int which = 0; which < Sums::kSums; ++which) {
    Partial* sums = partial + (thread.block_x() * Sums::kSums + which) * channels + channel;
    for (int i = 0; i < Sums::kChannels; ++i) {
      sums[i] = static_cast<Partial>(all.of(which * Sums::kChannels + i));
    }
  }
}

// The grid that adds up the sums of `blocks` blocks, which are the rows of one "image".
constexpr PlaneBlocks blocks_of_sums(int64_t blocks, int64_t channels) {
  return {1, blocks, channels, 1024};
}

// Adds up the sums of `count` blocks, in double, for one channel each. Calls body(channel, sums)
// once for each channel. The grid is that of blocks_of_sums, with shared memory for the sums.
template <typename Sums, typename Thread, typename Partial, typename Body>
APPROX_GPU void sums_of_blocks(Thread& thread, int64_t count, int64_t channels,
                               const Partial* partial, Body body) {
  static_assert(Sums::kChannels == 1);
  const PlaneBlocks blocks = blocks_of_sums(count, channels);
  const PlaneThread at(blocks, thread);
  const int64_t channel = at.vector;
  Sums own;
  own.clear();
  for (int64_t i = at.part; channel < channels && i < blocks.plane; i += at.parts) {
    for (int which = 0; which < Sums::kSums; ++which) {
      own.of(which, 0) += partial[(i * Sums::kSums + which) * channels + channel];
    }
  }
  Sums* all = thread.template shared<Sums>();
  all[thread.index()] = own;
  join_parts(thread, at, [&](int mine, int other) { all[mine].add(all[other]); });
  if (at.part != 0 || channel >= channels) return;
  body(channel, all[thread.index()]);
}

}  // namespace approx
