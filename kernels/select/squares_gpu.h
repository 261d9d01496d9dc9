// Norms along a matrix, on a GPU.
#pragma once

#include <cmath>

#include "kernels/gpu/planes.h"
#include "kernels/gpu/sums.h"
#include "kernels/select/squares.h"

namespace approx {

// The sums of squares of the columns, block of rows after block. kWidth divides the columns.
template <typename Number, int kWidth>
struct ColumnSquaresGpu {
  static constexpr int kMostThreads = 256;
  using Sums = OneSum<float, kWidth>;
  NormsOnGpu<Number> on;

  Grid grid() const { return blocks_of_rows(on.m.rows, on.m.columns / kWidth).grid(sizeof(Sums)); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    sums_of_rows<Sums>(thread, on.m.rows, on.m.columns, on.partial,
                       [&](int64_t index, int64_t /*column*/, Sums& sums) {
                         const auto values = load_constant<kWidth>(on.m.data + index);
                         for (int i = 0; i < kWidth; ++i) {
                           sums.sum[i] += values.v[i] * values.v[i];
                         }
                       });
  }
};

// What they make together.
template <typename Number>
struct ColumnNormsEnd {
  static constexpr int kMostThreads = 1024;
  using Sums = OneSum<double, 1>;
  NormsOnGpu<Number> on;

  Grid grid() const { return blocks_of_sums(on.m.rows, on.m.columns).grid(sizeof(Sums)); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    sums_of_blocks<Sums>(
        thread, on.m.rows, on.m.columns, on.partial,
        [&](int64_t column, const Sums& squares) { on.norm[column] = std::sqrt(squares.sum[0]); });
  }
};

// A block has a row. kWidth divides the columns.
template <typename Number, int kWidth>
struct RowNormsGpu {
  static constexpr int kMostThreads = 256;
  NormsOnGpu<Number> on;

  Grid grid() const {
    return {
        .x = on.m.rows, .threads = kMostThreads, .shared = kMostThreads / kWarp * sizeof(double)};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const Number* row = on.m.data + thread.block_x() * on.m.columns;
    float squares = 0;
    APPROX_UNROLL(4)
    for (int64_t at = int64_t{thread.index()} * kWidth; at < on.m.columns;
         at += int64_t{thread.threads()} * kWidth) {
      const auto values = load_constant<kWidth>(row + at);
      for (int i = 0; i < kWidth; ++i) squares += values.v[i] * values.v[i];
    }
    const double all = sum_of_block(thread, double{squares}, thread.template shared<double>());
    if (thread.index() == 0) on.norm[thread.block_x()] = std::sqrt(all);
  }
};

}  // namespace approx
