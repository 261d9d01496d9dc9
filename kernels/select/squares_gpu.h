// Norms along a matrix, on a GPU.
#pragma once

#include <cfloat>
#include <cmath>

#include "kernels/gpu/loads.h"
#include "kernels/gpu/planes.h"
#include "kernels/gpu/sums.h"
#include "kernels/long_sums.h"
#include "kernels/select/squares.h"

namespace approx {

// Whether squares that were added up in float must be added again in double. It is as needs_double
// (kernels/long_sums.h), except for zeros, which are frequent.
APPROX_GPU bool leave_float(float squares, float magnitude) {
  return magnitude != 0 && !(squares >= static_cast<float>(kLeastSquares) && squares <= FLT_MAX);
}

// Squares of the columns, and magnitudes that tell whether there were any nonzero numbers.
template <int kWidth>
struct SquareSums {
  static constexpr int kSums = 1, kChannels = kWidth;
  float squares[kWidth], magnitude[kWidth];

  APPROX_GPU void clear() {
    for (int i = 0; i < kWidth; ++i) squares[i] = magnitude[i] = 0;
  }
};

// The sums of squares of the columns, for each block of rows. kWidth divides the columns.
template <typename Number, int kWidth>
struct ColumnSquaresGpu {
  static constexpr int kMostThreads = 256;
  using Sums = SquareSums<kWidth>;
  NormsOnGpu<Number> on;

  constexpr PlaneBlocks blocks() const {
    return blocks_of_summed_rows(on.m.rows, on.m.columns / kWidth);
  }
  Grid grid() const { return blocks().grid(SharedSumsOf<Sums>::kBytes); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const PlaneThread at(blocks(), thread);
    const int64_t column = at.vector * kWidth;
    long_sums_of_rows<Sums>(
        thread, at, on.m.rows, on.m.columns, on.partial,
        [&](int64_t index) { return load_ahead<kWidth>(on.m.data + index); },
        [&](int64_t /*index*/, const auto& loaded, Sums& sums) {
          const Floats<kWidth> values = loaded.floats();
          for (int i = 0; i < kWidth; ++i) {
            sums.squares[i] += values.v[i] * values.v[i];
            sums.magnitude[i] += std::fabs(values.v[i]);
          }
        },
        [&](int64_t begin, int64_t end, int64_t step, const Sums& sums, int /*which*/, int i) {
          double squares = sums.squares[i];
          if (leave_float(sums.squares[i], sums.magnitude[i])) {
            squares = 0;
            for (int64_t row = begin; row < end; row += step) {
              const double value =
                  load_constant<1>(on.m.data + row * on.m.columns + column + i).v[0];
              squares += value * value;
            }
          }
          return squares;
        });
  }
};

// Makes norms from the sums of blocks.
template <typename Number>
struct ColumnNormsEnd {
  static constexpr int kMostThreads = 1024;
  using Sums = OneSum<double, 1>;
  NormsOnGpu<Number> on;

  Grid grid() const {
    return blocks_of_sums(sum_blocks(on.m.rows), on.m.columns).grid(sizeof(Sums));
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    sums_of_blocks<Sums>(
        thread, sum_blocks(on.m.rows), on.m.columns, on.partial,
        [&](int64_t column, const Sums& squares) { on.norm[column] = std::sqrt(squares.sum[0]); });
  }
};

// Each block has a row. kWidth divides the columns.
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
    double squares = 0;
    APPROX_UNROLL(4)
    for (int64_t at = int64_t{thread.index()} * kWidth; at < on.m.columns;
         at += int64_t{thread.threads()} * kWidth) {
      const auto values = load_constant<kWidth>(row + at);
      float some = 0, magnitude = 0;
      for (int i = 0; i < kWidth; ++i) {
        some += values.v[i] * values.v[i];
        magnitude += std::fabs(values.v[i]);
      }
      if (!leave_float(some, magnitude)) {
        squares += double{some};
      } else {
        for (int i = 0; i < kWidth; ++i) squares += double{values.v[i]} * double{values.v[i]};
      }
    }
    const double all = sum_of_block(thread, squares, thread.template shared<double>());
    if (thread.index() == 0) on.norm[thread.block_x()] = std::sqrt(all);
  }
};

}  // namespace approx
