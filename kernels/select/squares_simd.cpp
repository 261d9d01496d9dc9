// One read of the matrix: the sums of some vectors of columns stay in registers while rows stream
// past; a row's own sum in four vectors, for one addition waits for the one before.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/select/squares_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/bfloat16-inl.h"
// clang-format on

#include "kernels/select/squares.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns [first, first + kVectors * lanes) of rows [top, bottom).
template <int kVectors, typename Number>
void add_column_squares(const Matrix<Number>& m, float* sum, int64_t first, int64_t top,
                        int64_t bottom) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> squares[kVectors];
  for (int v = 0; v < kVectors; ++v) squares[v] = hn::Zero(d);
  const Number* row = m.data + top * m.columns + first;
  for (int64_t r = top; r < bottom; ++r, row += m.columns) {
    for (int v = 0; v < kVectors; ++v) {
      const auto value = load_numbers(d, row + v * lanes);
      squares[v] = hn::MulAdd(value, value, squares[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(squares[v], d, sum + first + v * lanes);
}

template <typename Number>
void columns_squared(const Matrix<Number>& m, float* sum, int64_t begin, int64_t end) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  const RowBlocks blocks(m);
  for (int64_t block = begin; block < end; ++block) {
    const int64_t top = blocks.begin(block), bottom = blocks.begin(block + 1);
    float* to = sum + block * m.columns;
    int64_t c = 0;
    for (; c + 8 * lanes <= m.columns; c += 8 * lanes) add_column_squares<8>(m, to, c, top, bottom);
    if (c + 4 * lanes <= m.columns) {
      add_column_squares<4>(m, to, c, top, bottom);
      c += 4 * lanes;
    }
    for (; c + lanes <= m.columns; c += lanes) add_column_squares<1>(m, to, c, top, bottom);
    for (; c < m.columns; ++c) {
      float squares = 0;
      for (int64_t r = top; r < bottom; ++r) {
        const auto value = static_cast<float>(m.data[r * m.columns + c]);
        squares += value * value;
      }
      to[c] = squares;
    }
  }
}

template <typename Number>
void rows_squared(const Matrix<Number>& m, float* sum, int64_t begin, int64_t end) {
  constexpr int64_t kVectors = 4;
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = begin; r < end; ++r) {
    const Number* row = m.data + r * m.columns;
    hn::Vec<decltype(d)> squares[kVectors];
    for (auto& one : squares) one = hn::Zero(d);
    int64_t c = 0;
    for (; c + kVectors * lanes <= m.columns; c += kVectors * lanes) {
      for (int v = 0; v < kVectors; ++v) {
        const auto value = load_numbers(d, row + c + v * lanes);
        squares[v] = hn::MulAdd(value, value, squares[v]);
      }
    }
    float total = hn::GetLane(hn::SumOfLanes(
        d, hn::Add(hn::Add(squares[0], squares[1]), hn::Add(squares[2], squares[3]))));
    for (; c < m.columns; ++c) {
      const auto value = static_cast<float>(row[c]);
      total += value * value;
    }
    sum[r] = total;
  }
}

// What is chosen at run time has no overloads.
void columns_of_floats(const Matrix<float>& m, float* sum, int64_t begin, int64_t end) {
  columns_squared(m, sum, begin, end);
}
void columns_of_bfloat16(const Matrix<BFloat16>& m, float* sum, int64_t begin, int64_t end) {
  columns_squared(m, sum, begin, end);
}
void rows_of_floats(const Matrix<float>& m, float* sum, int64_t begin, int64_t end) {
  rows_squared(m, sum, begin, end);
}
void rows_of_bfloat16(const Matrix<BFloat16>& m, float* sum, int64_t begin, int64_t end) {
  rows_squared(m, sum, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(columns_of_floats);
HWY_EXPORT(columns_of_bfloat16);
HWY_EXPORT(rows_of_floats);
HWY_EXPORT(rows_of_bfloat16);

void column_squares_simd(const Matrix<float>& m, float* sum, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(columns_of_floats)(m, sum, begin, end);
}
void column_squares_simd(const Matrix<BFloat16>& m, float* sum, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(columns_of_bfloat16)(m, sum, begin, end);
}

void row_squares_simd(const Matrix<float>& m, float* sum, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(rows_of_floats)(m, sum, begin, end);
}
void row_squares_simd(const Matrix<BFloat16>& m, float* sum, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(rows_of_bfloat16)(m, sum, begin, end);
}

}  // namespace approx
#endif
