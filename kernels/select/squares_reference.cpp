#include <algorithm>

#include "kernels/select/squares.h"

namespace approx {
namespace {

template <typename Number>
double squares_of_row(const Matrix<Number>& m, int64_t row) {
  double squares = 0;
  for (int64_t c = 0; c < m.columns; ++c) {
    const auto value = static_cast<double>(static_cast<float>(m.data[row * m.columns + c]));
    squares += value * value;
  }
  return squares;
}

}  // namespace

template <typename Number>
void column_squares_reference(const Matrix<Number>& m, float* sum, int64_t begin, int64_t end) {
  const RowBlocks blocks(m);
  for (int64_t block = begin; block < end; ++block) {
    for (int64_t c = 0; c < m.columns; ++c) {
      double squares = 0;
      for (int64_t row = blocks.begin(block); row < blocks.begin(block + 1); ++row) {
        const auto value = static_cast<double>(static_cast<float>(m.data[row * m.columns + c]));
        squares += value * value;
      }
      sum[block * m.columns + c] = static_cast<float>(squares);
    }
  }
}

template <typename Number>
void row_squares_reference(const Matrix<Number>& m, float* sum, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    sum[row] = static_cast<float>(squares_of_row(m, row));
  }
}

template <typename Number>
void column_squares_in_double(const Matrix<Number>& m, double* sum) {
  std::fill_n(sum, m.columns, 0.0);
  for (int64_t i = 0; i < m.rows; ++i) {
    const Number* const row = m.data + i * m.columns;
    for (int64_t c = 0; c < m.columns; ++c) {
      const auto value = static_cast<double>(static_cast<float>(row[c]));
      sum[c] += value * value;
    }
  }
}

template <typename Number>
void row_squares_in_double(const Matrix<Number>& m, double* sum, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) sum[row] = squares_of_row(m, row);
}

template void column_squares_reference(const Matrix<float>&, float*, int64_t, int64_t);
template void column_squares_reference(const Matrix<BFloat16>&, float*, int64_t, int64_t);
template void row_squares_reference(const Matrix<float>&, float*, int64_t, int64_t);
template void column_squares_in_double(const Matrix<float>&, double*);
template void column_squares_in_double(const Matrix<BFloat16>&, double*);
template void row_squares_in_double(const Matrix<float>&, double*, int64_t, int64_t);
template void row_squares_in_double(const Matrix<BFloat16>&, double*, int64_t, int64_t);
template void row_squares_reference(const Matrix<BFloat16>&, float*, int64_t, int64_t);

}  // namespace approx
