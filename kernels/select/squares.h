// Sums of squares along a matrix, on plain memory: what norms of channels and of examples are made
// of.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/bfloat16.h"

namespace approx {

// A matrix of numbers; maps with the channels last are one with a pixel a row.
template <typename Number>
struct Matrix {
  const Number* data = nullptr;  // [rows,columns]
  int64_t rows = 0, columns = 0;
};

// The rows of a matrix in blocks whose number depends on its size alone, so that sums of blocks are
// the same on any number of threads.
struct RowBlocks {
  template <typename Number>
  explicit constexpr RowBlocks(const Matrix<Number>& m)
      : rows(m.rows),
        count(std::clamp<int64_t>(m.rows * m.columns / (int64_t{1} << 15), 1,
                                  std::min<int64_t>(256, std::max<int64_t>(m.rows, 1)))) {}

  constexpr int64_t begin(int64_t block) const { return rows * block / count; }

  int64_t rows, count;
};

// For blocks [begin, end) of the rows: the sum of squares of each column within the block, to
// `sum` [blocks,columns], each to 1e-6 of it (kernels/long_sums.h) if it is a normal float. Where
// needs_double says so it may be infinite, or have lost small squares: see
// column_squares_in_double.
template <typename Number>
void column_squares_reference(const Matrix<Number>& m, float* sum, int64_t begin, int64_t end);
void column_squares_simd(const Matrix<float>& m, float* sum, int64_t begin, int64_t end);
void column_squares_simd(const Matrix<BFloat16>& m, float* sum, int64_t begin, int64_t end);

// For rows [begin, end): the sum of squares of each, to `sum` [rows]; likewise.
template <typename Number>
void row_squares_reference(const Matrix<Number>& m, float* sum, int64_t begin, int64_t end);
void row_squares_simd(const Matrix<float>& m, float* sum, int64_t begin, int64_t end);
void row_squares_simd(const Matrix<BFloat16>& m, float* sum, int64_t begin, int64_t end);

// The sums of squares of all columns, or of rows [begin, end), in double and of numbers of any
// size, to `sum` [columns] or [rows]. One thread's work, for the rare matrix that needs it.
template <typename Number>
void column_squares_in_double(const Matrix<Number>& m, double* sum);
template <typename Number>
void row_squares_in_double(const Matrix<Number>& m, double* sum, int64_t begin, int64_t end);

// The norms of all rows or of all columns, on a GPU, to 1e-6 of each and of numbers of any size.
// The sums are those of other blocks than above: the same to rounding.
template <typename Number>
struct NormsOnGpu {
  Matrix<Number> m;
  bool of_rows = false;
  double* partial = nullptr;  // [sum_blocks,columns]; null: of rows
  double* norm = nullptr;     // [rows], or [columns]
};

}  // namespace approx
