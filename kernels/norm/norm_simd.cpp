// All four passes are bound by memory: a handful of instructions per number, kept simple. Sums go
// through four rows at a time, so that the accumulators, which lie in the first-level cache, are
// read and written once for every four rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/norm_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>
// clang-format on

#include <algorithm>

#include "kernels/norm/norm.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls `body(tag, c)` for every vector of channels, the rest one by one.
template <typename Body>
HWY_INLINE void for_channels(int64_t channels, Body body) {
  const hn::ScalableTag<float> whole;
  const hn::CappedTag<float, 1> single;
  const auto lanes = static_cast<int64_t>(hn::Lanes(whole));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) body(whole, c);
  for (; c < channels; ++c) body(single, c);
}

// Adds to sum and square the rows [row, row + kRows).
template <int kRows>
HWY_INLINE void add_moments(const NormMoments& a, int64_t row, float* HWY_RESTRICT sum,
                            float* HWY_RESTRICT square) {
  const float* HWY_RESTRICT x = a.x + row * a.channels;
  for_channels(a.channels, [&](auto d, int64_t c) HWY_ATTR {
    const auto shift = hn::LoadU(d, a.shift + c);
    auto s = hn::LoadU(d, sum + c), q = hn::LoadU(d, square + c);
    for (int r = 0; r < kRows; ++r) {
      const auto value = hn::Sub(hn::LoadU(d, x + r * a.channels + c), shift);
      s = hn::Add(s, value);
      q = hn::MulAdd(value, value, q);
    }
    hn::StoreU(s, d, sum + c);
    hn::StoreU(q, d, square + c);
  });
}

void moments(const NormMoments& a, int64_t begin, int64_t end, float* sum, float* square) {
  std::fill_n(sum, a.channels, 0.0f);
  std::fill_n(square, a.channels, 0.0f);
  int64_t row = begin;
  for (; row + 4 <= end; row += 4) add_moments<4>(a, row, sum, square);
  for (; row < end; ++row) add_moments<1>(a, row, sum, square);
}

template <NormTail kTail>
HWY_INLINE void apply_rows(const NormApply& a, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * a.channels;
    for_channels(a.channels, [&](auto d, int64_t c) HWY_ATTR {
      auto value = hn::MulAdd(hn::LoadU(d, a.x + at + c), hn::LoadU(d, a.scale + c),
                              hn::LoadU(d, a.offset + c));
      if constexpr (kTail == NormTail::kAddRelu) {
        value = hn::Add(value, hn::LoadU(d, a.residual + at + c));
      }
      // Compared rather than maximised: a value that is not a number stays one.
      if constexpr (kTail != NormTail::kNone) {
        value = hn::IfThenZeroElse(hn::Lt(value, hn::Zero(d)), value);
      }
      hn::StoreU(value, d, a.y + at + c);
    });
  }
}

void apply(const NormApply& a, int64_t begin, int64_t end) {
  switch (a.tail) {
    case NormTail::kNone:
      return apply_rows<NormTail::kNone>(a, begin, end);
    case NormTail::kRelu:
      return apply_rows<NormTail::kRelu>(a, begin, end);
    case NormTail::kAddRelu:
      return apply_rows<NormTail::kAddRelu>(a, begin, end);
  }
}

// The gradient behind a ReLU that gave y. As LibTorch's: where y <= 0 it is zero, whatever it was.
template <typename D>
HWY_INLINE hn::Vec<D> behind_relu(D d, hn::Vec<D> g, hn::Vec<D> y) {
  return hn::IfThenZeroElse(hn::Le(y, hn::Zero(d)), g);
}

template <NormTail kTail, int kRows>
HWY_INLINE void add_sums(const NormSums& a, int64_t row, float* HWY_RESTRICT sum,
                         float* HWY_RESTRICT product) {
  const int64_t at = row * a.channels;
  for_channels(a.channels, [&](auto d, int64_t c) HWY_ATTR {
    const auto mean = hn::LoadU(d, a.mean + c);
    auto s = hn::LoadU(d, sum + c), q = hn::LoadU(d, product + c);
    for (int r = 0; r < kRows; ++r) {
      const int64_t i = at + r * a.channels + c;
      const auto x = hn::LoadU(d, a.x + i);
      auto g = hn::LoadU(d, a.dy + i);
      if constexpr (kTail == NormTail::kRelu) {
        g = behind_relu(d, g, hn::MulAdd(x, hn::LoadU(d, a.scale + c), hn::LoadU(d, a.offset + c)));
      }
      if constexpr (kTail == NormTail::kAddRelu) {
        g = behind_relu(d, g, hn::LoadU(d, a.y + i));
        hn::StoreU(g, d, a.dresidual + i);
      }
      s = hn::Add(s, g);
      q = hn::MulAdd(g, hn::Sub(x, mean), q);
    }
    hn::StoreU(s, d, sum + c);
    hn::StoreU(q, d, product + c);
  });
}

template <NormTail kTail>
HWY_INLINE void sum_rows(const NormSums& a, int64_t begin, int64_t end, float* sum,
                         float* product) {
  int64_t row = begin;
  for (; row + 4 <= end; row += 4) add_sums<kTail, 4>(a, row, sum, product);
  for (; row < end; ++row) add_sums<kTail, 1>(a, row, sum, product);
}

void sums(const NormSums& a, int64_t begin, int64_t end, float* sum, float* product) {
  std::fill_n(sum, a.channels, 0.0f);
  std::fill_n(product, a.channels, 0.0f);
  switch (a.tail) {
    case NormTail::kNone:
      return sum_rows<NormTail::kNone>(a, begin, end, sum, product);
    case NormTail::kRelu:
      return sum_rows<NormTail::kRelu>(a, begin, end, sum, product);
    case NormTail::kAddRelu:
      return sum_rows<NormTail::kAddRelu>(a, begin, end, sum, product);
  }
}

template <bool kRelu>
HWY_INLINE void gradient_rows(const NormGradient& a, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * a.channels;
    for_channels(a.channels, [&](auto d, int64_t c) HWY_ATTR {
      const int64_t i = at + c;
      const auto x = hn::LoadU(d, a.x + i);
      auto g = hn::LoadU(d, a.dy + i);
      if constexpr (kRelu) {
        g = behind_relu(d, g, hn::MulAdd(x, hn::LoadU(d, a.scale + c), hn::LoadU(d, a.offset + c)));
      }
      const auto of_x = hn::MulAdd(x, hn::LoadU(d, a.b + c), hn::LoadU(d, a.d + c));
      hn::StoreU(hn::MulAdd(g, hn::LoadU(d, a.a + c), of_x), d, a.dx + i);
    });
  }
}

void gradient(const NormGradient& a, int64_t begin, int64_t end) {
  a.relu ? gradient_rows<true>(a, begin, end) : gradient_rows<false>(a, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(moments);
HWY_EXPORT(apply);
HWY_EXPORT(sums);
HWY_EXPORT(gradient);

namespace {

void moments_simd(const NormMoments& args, int64_t begin, int64_t end, float* sum, float* square) {
  HWY_DYNAMIC_DISPATCH(moments)(args, begin, end, sum, square);
}

void apply_simd(const NormApply& args, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(apply)(args, begin, end);
}

void sums_simd(const NormSums& args, int64_t begin, int64_t end, float* sum, float* product) {
  HWY_DYNAMIC_DISPATCH(sums)(args, begin, end, sum, product);
}

void gradient_simd(const NormGradient& args, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(gradient)(args, begin, end);
}

REGISTER_NORM("simd", {moments_simd, apply_simd, sums_simd, gradient_simd}).rank(1);

}  // namespace
}  // namespace approx
#endif
