// Transposes squares of numbers in registers. Included once for each instruction set that Highway
// compiles for.
#if defined(APPROX_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_KERNELS_TRANSPOSE_INL_H_
#undef APPROX_KERNELS_TRANSPOSE_INL_H_
#else
#define APPROX_KERNELS_TRANSPOSE_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Full vectors of four-byte numbers, where the compiler knows their length: 4, 8 or 16.
#if HWY_HAVE_SCALABLE
template <typename T>
using SquareTag = hn::CappedTag<T, 4>;
#else
template <typename T>
using SquareTag = hn::ScalableTag<T>;
#endif

// Transposes numbers of four bytes: rows[i][j] becomes rows[j][i].
template <typename D>
HWY_INLINE void transpose(D d, hn::Vec<D>* HWY_RESTRICT rows) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  static_assert(sizeof(hn::TFromD<D>) == 4 && (kLanes == 4 || kLanes == 8 || kLanes == 16));
  const hn::RepartitionToWide<D> wide;
  const auto pairs = [&](auto v) HWY_ATTR { return hn::BitCast(wide, v); };
  // Transposes four by four numbers in every block of 128 bits.
#pragma GCC unroll 4
  for (size_t row = 0; row < kLanes; row += 4) {
    auto* four = rows + row;
    const auto lower_ab = pairs(hn::InterleaveLower(d, four[0], four[1]));
    const auto upper_ab = pairs(hn::InterleaveUpper(d, four[0], four[1]));
    const auto lower_cd = pairs(hn::InterleaveLower(d, four[2], four[3]));
    const auto upper_cd = pairs(hn::InterleaveUpper(d, four[2], four[3]));
    four[0] = hn::BitCast(d, hn::InterleaveLower(wide, lower_ab, lower_cd));
    four[1] = hn::BitCast(d, hn::InterleaveUpper(wide, lower_ab, lower_cd));
    four[2] = hn::BitCast(d, hn::InterleaveLower(wide, upper_ab, upper_cd));
    four[3] = hn::BitCast(d, hn::InterleaveUpper(wide, upper_ab, upper_cd));
  }
  // Transposes the blocks: those of rows i, i + 4, ... are a square of their own.
  if constexpr (kLanes == 8) {
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      const auto a = rows[i], b = rows[i + 4];
      rows[i] = hn::ConcatLowerLower(d, b, a);
      rows[i + 4] = hn::ConcatUpperUpper(d, b, a);
    }
  } else if constexpr (kLanes == 16) {
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      const auto a = rows[i], b = rows[i + 4], c = rows[i + 8], e = rows[i + 12];
      const auto even_rows = hn::ConcatLowerLower(d, c, a);  // blocks a0 a1 c0 c1
      const auto odd_rows = hn::ConcatLowerLower(d, e, b);   // b0 b1 e0 e1
      rows[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd_rows), even_rows);
      rows[i + 4] = hn::OddEvenBlocks(odd_rows, hn::SwapAdjacentBlocks(even_rows));
      const auto even_rest = hn::ConcatUpperUpper(d, c, a);
      const auto odd_rest = hn::ConcatUpperUpper(d, e, b);
      rows[i + 8] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd_rest), even_rest);
      rows[i + 12] = hn::OddEvenBlocks(odd_rest, hn::SwapAdjacentBlocks(even_rest));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif
