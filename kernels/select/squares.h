// Sums of squares along a matrix, on plain memory, for norms of channels and of examples.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/bfloat16.h"

namespace approx {

// A matrix of numbers. Channels-last maps are a matrix with one pixel per row.
template <typename Number>
struct Matrix {
  const Number* data = nullptr;  // [rows,columns]
  int64_t rows = 0, columns = 0;
};

// The rows of a matrix in blocks. Their number depends only on its size, so that sums of blocks are
// equal for any number of threads.
struct RowBlocks {
  template <typename Number>
  explicit constexpr RowBlocks(const Matrix<Number>& m)
      : rows(m.rows),
        count(std::clamp<int64_t>(m.rows * m.columns / (int64_t{1} << 15), 1,
                                  std::min<int64_t>(256, std::max<int64_t>(m.rows, 1)))) {}

  constexpr int64_t begin(int64_t block) const { return rows * block / count; }

  int64_t rows, count;
};

// Computes the sum of squares of each column within each of the blocks [begin, end) of rows. Writes
// them to `sum` [blocks,columns], each to 1e-6 of it (kernels/long_sums.h) if it is a normal float.
// Where needs_double is true, a sum may be infinite or lack small squares: see
// column_squares_in_double.
template <typename Number>
void column_squares_reference(const Matrix<Number>& m, float* sum, int64_t begin, int64_t end);
void column_squares_simd(const Matrix<float>& m, float* sum, int64_t begin, int64_t end);
void column_squares_simd(const Matrix<BFloat16>& m, float* sum, int64_t begin, int64_t end);

// Computes the sum of squares of each of the rows [begin, end), to `sum` [rows], with the same
// error bound.
template <typename Number>
void row_squares_reference(const Matrix<Number>& m, float* sum, int64_t begin, int64_t end);
void row_squares_simd(const Matrix<float>& m, float* sum, int64_t begin, int64_t end);
void row_squares_simd(const Matrix<BFloat16>& m, float* sum, int64_t begin, int64_t end);

// The sums of squares of all columns, or of rows [begin, end), in double, for numbers of any size,
// to `sum` [columns] or [rows]. It uses one thread, for the rare matrix that needs it.
template <typename Number>
void column_squares_in_double(const Matrix<Number>& m, double* sum);
template <typename Number>
void row_squares_in_double(const Matrix<Number>& m, double* sum, int64_t begin, int64_t end);

// The norms of all rows or of all columns, on a GPU, each to 1e-6 of it, for numbers of any size.
// The sums are of other blocks than above, and equal up to rounding.
template <typename Number>
struct NormsOnGpu {
  Matrix<Number> m;
  bool of_rows = false;
  double* partial = nullptr;  // [sum_blocks,columns]; null: norms of rows
  double* norm = nullptr;     // [rows], or [columns]
};

}  // namespace approx
