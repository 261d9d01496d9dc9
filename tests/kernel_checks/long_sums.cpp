// Sums of up to two million numbers by every instruction set: to 1e-6 of the sum of magnitudes
// (kernels/long_sums.h), whatever the numbers are.
#include <fmt/format.h>
#include <hwy/targets.h>

#include <cmath>

#include "kernels/select/magnitude.h"
#include "kernels/select/peak.h"
#include "kernels/select/squares.h"
#include "tests/kernel_checks/checks.h"
#include "tests/kernel_checks/long_numbers.h"

namespace approx {
namespace {

// [rows,columns], and what is true of its columns and of its rows.
template <typename Number>
struct Columns {
  Columns(LongKind kind, int64_t rows, int64_t columns)
      : rows(rows),
        columns(columns),
        data(static_cast<size_t>(rows * columns)),
        sum(static_cast<size_t>(columns)),
        magnitude(sum.size()),
        squares(sum.size()) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t c = 0; c < columns; ++c) {
        const Number value(long_number(kind, i, rows, c));
        data[static_cast<size_t>(i * columns + c)] = value;
        const double exact{static_cast<float>(value)};
        sum[static_cast<size_t>(c)] += exact;
        magnitude[static_cast<size_t>(c)] += std::abs(exact);
        squares[static_cast<size_t>(c)] += exact * exact;
      }
    }
  }

  int64_t rows, columns;
  std::vector<Number> data;
  std::vector<double> sum, magnitude, squares;
};

// Where a sum is off by more than kMostOff of what its numbers are in all.
template <typename Sums>
std::string off(const char* what, const Sums& got, const std::vector<double>& truth,
                const std::vector<double>& all) {
  for (size_t c = 0; c < truth.size(); ++c) {
    const double error = std::abs(double{got[c]} - truth[c]) / all[c];
    if (!(error <= kMostOff)) {
      return fmt::format("{} of column {} is {} and not {}: {:.2g} off", what, c, got[c], truth[c],
                         error);
    }
  }
  return {};
}

// The squares of blocks together.
template <typename Number>
std::vector<double> column_squares(const Matrix<Number>& m) {
  const int64_t blocks = RowBlocks(m).count;
  std::vector<float> parts(static_cast<size_t>(blocks * m.columns));
  column_squares_simd(m, parts.data(), 0, blocks);
  std::vector<double> squares(static_cast<size_t>(m.columns));
  for (size_t i = 0; i < parts.size(); ++i) squares[i % squares.size()] += double{parts[i]};
  return squares;
}

template <typename Number>
std::string sums_wrong(const Columns<Number>& x) {
  const Number* data = x.data.data();
  std::vector<float> sums(x.sum.size());
  std::vector<int32_t> position(sums.size());
  plane_peak_simd(PeakArgs<Number>{1, x.rows, x.columns, data, position.data(), sums.data()}, 0, 1);
  auto wrong = off("the sum", sums, x.sum, x.magnitude);
  if (!wrong.empty()) return wrong;
  plane_magnitude_simd(MagnitudeArgs<Number>{1, x.rows, x.columns, data, sums.data()}, 0, 1);
  wrong = off("the magnitude", sums, x.magnitude, x.magnitude);
  if (!wrong.empty()) return wrong;
  wrong = off("the squares", column_squares(Matrix<Number>{data, x.rows, x.columns}), x.squares,
              x.squares);
  if (!wrong.empty()) return wrong;
  // All numbers as one row.
  const int64_t count = x.rows * x.columns;
  double magnitude = 0, squares = 0;
  for (const double one : x.magnitude) magnitude += one;
  for (const double one : x.squares) squares += one;
  wrong = off("the magnitude of all", std::vector{magnitude_simd(data, count)},
              std::vector{magnitude}, std::vector{magnitude});
  if (!wrong.empty()) return wrong;
  float of_row = 0;
  row_squares_simd(Matrix<Number>{data, 1, count}, &of_row, 0, 1);
  return off("the squares of all", std::vector{of_row}, std::vector{squares}, std::vector{squares});
}

// Finite sums of numbers whose short sums are none.
template <typename Number>
std::string large_sums_wrong() {
  constexpr float kLarge = 0x1p+126F;
  for (const int64_t pixels : {8, 16, 64, 200}) {
    for (const int64_t channels : {1, 5, 85}) {
      std::vector<Number> dy(static_cast<size_t>(pixels * channels));
      // The first half is added up before the second takes it back.
      for (size_t i = 0; i < dy.size(); ++i) {
        dy[i] = Number(i < dy.size() / 2 ? kLarge : -kLarge);
      }
      std::vector<float> sums(static_cast<size_t>(channels));
      std::vector<int32_t> position(sums.size());
      plane_peak_simd(
          PeakArgs<Number>{1, pixels, channels, dy.data(), position.data(), sums.data()}, 0, 1);
      for (const float sum : sums) {
        if (sum != 0) return fmt::format("a sum of {} numbers is {} and not 0", pixels, sum);
      }
      const double all = magnitude_simd(dy.data(), static_cast<int64_t>(dy.size()));
      const double truth = double{kLarge} * static_cast<double>(dy.size());
      if (all != truth) return fmt::format("a magnitude is {} and not {}", all, truth);
    }
  }
  return {};
}

template <typename Number>
std::string all_wrong() {
  for (const int64_t rows : kLengths) {
    const bool is_long = rows > 100000;
    // Vectors of every width, alone and eight together, and a rest; of many numbers fewer.
    const int64_t columns = is_long ? 17 : rows > 5000 ? 21 : 128 + 64 + 16 + 5;
    if (is_long && sizeof(Number) != sizeof(float)) continue;
    for (const LongKind kind : kLongKinds) {
      if (is_long && kind != LongKind::kConstant && kind != LongKind::kHuge) continue;
      const Columns<Number> x(kind, rows, columns);
      for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(target);
        auto wrong = sums_wrong(x);
        if (wrong.empty() && rows == 1) wrong = large_sums_wrong<Number>();
        hwy::SetSupportedTargetsForTest(0);
        hwy::GetChosenTarget().DeInit();
        if (!wrong.empty()) {
          return fmt::format("{} ({} rows, kind {}, {})", wrong, rows, static_cast<int>(kind),
                             hwy::TargetName(target));
        }
      }
    }
  }
  return {};
}

}  // namespace

std::string long_sums_wrong() {
  auto wrong = all_wrong<float>();
  return wrong.empty() ? all_wrong<BFloat16>() : wrong;
}

}  // namespace approx
