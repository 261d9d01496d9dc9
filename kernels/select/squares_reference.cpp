#include "kernels/select/squares.h"

namespace approx {

void column_squares_reference(const Matrix& m, float* sum, int64_t begin, int64_t end) {
  const RowBlocks blocks(m);
  for (int64_t block = begin; block < end; ++block) {
    for (int64_t c = 0; c < m.columns; ++c) {
      double squares = 0;
      for (int64_t row = blocks.begin(block); row < blocks.begin(block + 1); ++row) {
        const double value = m.data[row * m.columns + c];
        squares += value * value;
      }
      sum[block * m.columns + c] = static_cast<float>(squares);
    }
  }
}

void row_squares_reference(const Matrix& m, float* sum, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    double squares = 0;
    for (int64_t c = 0; c < m.columns; ++c) {
      const double value = m.data[row * m.columns + c];
      squares += value * value;
    }
    sum[row] = static_cast<float>(squares);
  }
}

}  // namespace approx
