// One read of the matrix: the sums of some vectors of columns stay in registers while rows stream
// past; a row's own sum in four vectors, for one addition waits for the one before.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/select/squares_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/bfloat16-inl.h"
#include "kernels/long_sums-inl.h"
// clang-format on

#include <algorithm>

#include "kernels/select/squares.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns [first, first + kVectors * lanes) of rows [top, bottom).
template <int kVectors, class D, typename Number>
HWY_INLINE void add_column_squares(D d, const Matrix<Number>& m, float* sum, int64_t first,
                                   int64_t top, int64_t bottom) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN double total[kVectors * hn::MaxLanes(D())] = {};
  const Number* row = m.data + top * m.columns + first;
  // So many rows, and so many times those: a rounding for each of both, but for the first time. To
  // load sixteen bits takes other instructions, beside which more sums have no room.
  constexpr bool kIsHalf = sizeof(Number) == sizeof(uint16_t);
  constexpr int64_t kRows = kIsHalf ? 10 : kFloatRoundings, kTimes = kIsHalf ? 6 : 1;
  static_assert(kRows + kTimes - 1 <= kFloatRoundings);
  // (A number of rows that the compiler knows would be unrolled, vector after vector.)
  for (int64_t r = top; r < bottom;) {
    hn::Vec<D> all[kVectors];
    for (int64_t time = 0; time < kTimes && r < bottom; ++time) {
      hn::Vec<D> squares[kVectors];
      for (int v = 0; v < kVectors; ++v) squares[v] = hn::Zero(d);
      for (const int64_t end = std::min(r + kRows, bottom); r < end; ++r, row += m.columns) {
        for_each_vector<kVectors>(d, row, [&](int v, hn::Vec<D> value) HWY_ATTR {
          squares[v] = hn::MulAdd(value, value, squares[v]);
        });
      }
      for (int v = 0; v < kVectors; ++v) {
        all[v] = time == 0 ? squares[v] : hn::Add(all[v], squares[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) add_in_double(d, all[v], total + v * lanes);
  }
  hn::Vec<D> squares[kVectors];
  for (int v = 0; v < kVectors; ++v) squares[v] = load_doubles(d, total + v * lanes);
  store_vectors<Number>(d, squares, sum + first);
}

template <typename Number>
void columns_squared(const Matrix<Number>& m, float* sum, int64_t begin, int64_t end) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const RowBlocks blocks(m);
  for (int64_t block = begin; block < end; ++block) {
    const int64_t top = blocks.begin(block), bottom = blocks.begin(block + 1);
    float* to = sum + block * m.columns;
    int64_t c = 0;
    for (; c + 8 * lanes <= m.columns; c += 8 * lanes) {
      add_column_squares<8>(d, m, to, c, top, bottom);
    }
    if (c + 4 * lanes <= m.columns) {
      add_column_squares<4>(d, m, to, c, top, bottom);
      c += 4 * lanes;
    }
    for (; c + lanes <= m.columns; c += lanes) add_column_squares<1>(d, m, to, c, top, bottom);
    for (; c < m.columns; ++c) add_column_squares<1>(Single(), m, to, c, top, bottom);
  }
}

template <typename Number>
void rows_squared(const Matrix<Number>& m, float* sum, int64_t begin, int64_t end) {
  // A rounding for each vector of a sum, and two for the four sums.
  constexpr int kVectors = 4;
  constexpr int64_t kTurns = kFloatRoundings - 2;
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<double> dd;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d)), step = kVectors * lanes;
  for (int64_t r = begin; r < end; ++r) {
    const Number* row = m.data + r * m.columns;
    auto low = hn::Zero(dd), high = hn::Zero(dd);
    int64_t c = 0;
    while (c + step <= m.columns) {
      const int64_t last = std::min(c + kTurns * step, m.columns);
      hn::Vec<decltype(d)> squares[kVectors];
      for (auto& one : squares) one = hn::Zero(d);
      for (; c + step <= last; c += step) {
        for_each_vector<kVectors>(d, row + c, [&](int v, hn::Vec<decltype(d)> value) HWY_ATTR {
          squares[v] = hn::MulAdd(value, value, squares[v]);
        });
      }
      const auto all = hn::Add(hn::Add(squares[0], squares[1]), hn::Add(squares[2], squares[3]));
      low = hn::Add(low, lower_in_double(all));
      high = hn::Add(high, upper_in_double(all));
    }
    double total = hn::GetLane(hn::SumOfLanes(dd, hn::Add(low, high)));
    for (; c < m.columns; ++c) {
      const double value{static_cast<float>(row[c])};
      total += value * value;
    }
    sum[r] = static_cast<float>(total);
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
