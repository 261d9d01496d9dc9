// The passes are bound by memory, with a handful of instructions per number, kept simple; a GELU or
// CELU adds some forty, which is about what the memory takes. Sums go
// through four rows at a time, so that the accumulators, which lie in the first-level cache, are
// read and written once for every four rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/norm_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/bfloat16-inl.h"
#include "kernels/norm/smooth_tails-inl.h"
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
template <int kRows, typename Number>
HWY_INLINE void add_moments(const NormMoments<Number>& a, int64_t row, float* HWY_RESTRICT sum,
                            float* HWY_RESTRICT square) {
  const Number* HWY_RESTRICT x = a.x + row * a.channels;
  for_channels(a.channels, [&](auto d, int64_t c) HWY_ATTR {
    const auto shift = hn::LoadU(d, a.shift + c);
    auto s = hn::LoadU(d, sum + c), q = hn::LoadU(d, square + c);
    for (int r = 0; r < kRows; ++r) {
      const auto value = hn::Sub(load_numbers(d, x + r * a.channels + c), shift);
      s = hn::Add(s, value);
      q = hn::MulAdd(value, value, q);
    }
    hn::StoreU(s, d, sum + c);
    hn::StoreU(q, d, square + c);
  });
}

template <typename Number>
void moments(const NormMoments<Number>& a, int64_t begin, int64_t end, float* sum, float* square) {
  std::fill_n(sum, a.channels, 0.0f);
  std::fill_n(square, a.channels, 0.0f);
  int64_t row = begin;
  for (; row + 4 <= end; row += 4) add_moments<4>(a, row, sum, square);
  for (; row < end; ++row) add_moments<1>(a, row, sum, square);
}

template <NormTail kTail, typename Number>
HWY_INLINE void apply_rows(const NormApply<Number>& a, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * a.channels;
    for_channels(a.channels, [&](auto d, int64_t c) HWY_ATTR {
      auto value = hn::MulAdd(load_numbers(d, a.x + at + c), hn::LoadU(d, a.scale + c),
                              hn::LoadU(d, a.offset + c));
      if constexpr (adds_residual(kTail)) {
        value = hn::Add(value, load_numbers(d, a.residual + at + c));
      }
      // Compared rather than maximised: a value that is not a number stays one.
      if constexpr (is_smooth(kTail)) {
        value = smooth_tail<kTail>(d, value, a.alpha);
      } else if constexpr (kTail != NormTail::kNone) {
        value = hn::IfThenZeroElse(hn::Lt(value, hn::Zero(d)), value);
      }
      store_rounded(d, value, a.y + at + c);
    });
  }
}

template <typename Number>
void apply(const NormApply<Number>& a, int64_t begin, int64_t end) {
  switch (a.tail) {
    case NormTail::kNone:
      return apply_rows<NormTail::kNone>(a, begin, end);
    case NormTail::kRelu:
      return apply_rows<NormTail::kRelu>(a, begin, end);
    case NormTail::kAddRelu:
      return apply_rows<NormTail::kAddRelu>(a, begin, end);
    case NormTail::kGelu:
      return apply_rows<NormTail::kGelu>(a, begin, end);
    case NormTail::kCelu:
      return apply_rows<NormTail::kCelu>(a, begin, end);
    case NormTail::kAddGelu:
      return apply_rows<NormTail::kAddGelu>(a, begin, end);
  }
}

// The gradient behind a ReLU that gave y. As LibTorch's: where y <= 0 it is zero, whatever it was.
template <typename D>
HWY_INLINE hn::Vec<D> behind_relu(D d, hn::Vec<D> g, hn::Vec<D> y) {
  return hn::IfThenZeroElse(hn::Le(y, hn::Zero(d)), g);
}

// The gradient behind a tail that gave a result of z alone.
template <NormTail kTail, typename D>
HWY_INLINE hn::Vec<D> behind(D d, hn::Vec<D> g, hn::Vec<D> z, float alpha) {
  if constexpr (is_smooth(kTail)) return hn::Mul(g, smooth_slope<kTail>(d, z, alpha));
  return behind_relu(d, g, z);
}

template <NormTail kTail, int kRows, typename Number>
HWY_INLINE void add_sums(const NormSums<Number>& a, int64_t row, float* HWY_RESTRICT sum,
                         float* HWY_RESTRICT product) {
  const int64_t at = row * a.channels;
  for_channels(a.channels, [&](auto d, int64_t c) HWY_ATTR {
    const auto mean = hn::LoadU(d, a.mean + c);
    auto s = hn::LoadU(d, sum + c), q = hn::LoadU(d, product + c);
    for (int r = 0; r < kRows; ++r) {
      const int64_t i = at + r * a.channels + c;
      const auto x = load_numbers(d, a.x + i);
      auto g = load_numbers(d, a.dy + i);
      if constexpr (kTail == NormTail::kRelu || is_smooth(kTail)) {
        auto z = hn::MulAdd(x, hn::LoadU(d, a.scale + c), hn::LoadU(d, a.offset + c));
        if constexpr (adds_residual(kTail)) z = hn::Add(z, load_numbers(d, a.residual + i));
        g = behind<kTail>(d, g, z, a.alpha);
        if constexpr (adds_residual(kTail)) store_rounded(d, g, a.dresidual + i);
      }
      if constexpr (kTail == NormTail::kAddRelu) {
        g = behind_relu(d, g, load_numbers(d, a.y + i));
        store_same(d, g, a.dresidual + i);
      }
      s = hn::Add(s, g);
      q = hn::MulAdd(g, hn::Sub(x, mean), q);
    }
    hn::StoreU(s, d, sum + c);
    hn::StoreU(q, d, product + c);
  });
}

template <NormTail kTail, typename Number>
HWY_INLINE void sum_rows(const NormSums<Number>& a, int64_t begin, int64_t end, float* sum,
                         float* product) {
  int64_t row = begin;
  for (; row + 4 <= end; row += 4) add_sums<kTail, 4>(a, row, sum, product);
  for (; row < end; ++row) add_sums<kTail, 1>(a, row, sum, product);
}

template <typename Number>
void sums(const NormSums<Number>& a, int64_t begin, int64_t end, float* sum, float* product) {
  std::fill_n(sum, a.channels, 0.0f);
  std::fill_n(product, a.channels, 0.0f);
  switch (a.tail) {
    case NormTail::kNone:
      return sum_rows<NormTail::kNone>(a, begin, end, sum, product);
    case NormTail::kRelu:
      return sum_rows<NormTail::kRelu>(a, begin, end, sum, product);
    case NormTail::kAddRelu:
      return sum_rows<NormTail::kAddRelu>(a, begin, end, sum, product);
    case NormTail::kGelu:
      return sum_rows<NormTail::kGelu>(a, begin, end, sum, product);
    case NormTail::kCelu:
      return sum_rows<NormTail::kCelu>(a, begin, end, sum, product);
    case NormTail::kAddGelu:
      return sum_rows<NormTail::kAddGelu>(a, begin, end, sum, product);
  }
}

template <NormTail kTail, typename Number>
HWY_INLINE void gradient_rows(const NormGradient<Number>& a, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * a.channels;
    for_channels(a.channels, [&](auto d, int64_t c) HWY_ATTR {
      const int64_t i = at + c;
      const auto x = load_numbers(d, a.x + i);
      auto g = load_numbers(d, a.dy + i);
      if constexpr (kTail != NormTail::kNone) {
        const auto z = hn::MulAdd(x, hn::LoadU(d, a.scale + c), hn::LoadU(d, a.offset + c));
        g = behind<kTail>(d, g, z, a.alpha);
      }
      const auto of_x = hn::MulAdd(x, hn::LoadU(d, a.b + c), hn::LoadU(d, a.d + c));
      store_rounded(d, hn::MulAdd(g, hn::LoadU(d, a.a + c), of_x), a.dx + i);
    });
  }
}

template <typename Number>
void gradient(const NormGradient<Number>& a, int64_t begin, int64_t end) {
  switch (a.smooth) {
    case NormTail::kGelu:
      return gradient_rows<NormTail::kGelu>(a, begin, end);
    case NormTail::kCelu:
      return gradient_rows<NormTail::kCelu>(a, begin, end);
    default:
      return a.relu ? gradient_rows<NormTail::kRelu>(a, begin, end)
                    : gradient_rows<NormTail::kNone>(a, begin, end);
  }
}

// What is chosen at run time has no overloads.
#define APPROX_NORM_OF(Number, suffix)                                                        \
  void moments_##suffix(const NormMoments<Number>& a, int64_t begin, int64_t end, float* sum, \
                        float* square) {                                                      \
    moments(a, begin, end, sum, square);                                                      \
  }                                                                                           \
  void apply_##suffix(const NormApply<Number>& a, int64_t begin, int64_t end) {               \
    apply(a, begin, end);                                                                     \
  }                                                                                           \
  void sums_##suffix(const NormSums<Number>& a, int64_t begin, int64_t end, float* sum,       \
                     float* product) {                                                        \
    sums(a, begin, end, sum, product);                                                        \
  }                                                                                           \
  void gradient_##suffix(const NormGradient<Number>& a, int64_t begin, int64_t end) {         \
    gradient(a, begin, end);                                                                  \
  }

APPROX_NORM_OF(float, float)
APPROX_NORM_OF(BFloat16, bfloat16)

#undef APPROX_NORM_OF

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

#define APPROX_NORM_OF(Number, suffix)                                                             \
  HWY_EXPORT(moments_##suffix);                                                                    \
  HWY_EXPORT(apply_##suffix);                                                                      \
  HWY_EXPORT(sums_##suffix);                                                                       \
  HWY_EXPORT(gradient_##suffix);                                                                   \
  namespace {                                                                                      \
  constexpr NormPasses<Number> passes_of_##suffix{                                                 \
      [](const NormMoments<Number>& args, int64_t begin, int64_t end, float* sum, float* square) { \
        HWY_DYNAMIC_DISPATCH(moments_##suffix)(args, begin, end, sum, square);                     \
      },                                                                                           \
      [](const NormApply<Number>& args, int64_t begin, int64_t end) {                              \
        HWY_DYNAMIC_DISPATCH(apply_##suffix)(args, begin, end);                                    \
      },                                                                                           \
      [](const NormSums<Number>& args, int64_t begin, int64_t end, float* sum, float* product) {   \
        HWY_DYNAMIC_DISPATCH(sums_##suffix)(args, begin, end, sum, product);                       \
      },                                                                                           \
      [](const NormGradient<Number>& args, int64_t begin, int64_t end) {                           \
        HWY_DYNAMIC_DISPATCH(gradient_##suffix)(args, begin, end);                                 \
      }};                                                                                          \
  }  // namespace

APPROX_NORM_OF(float, float)
APPROX_NORM_OF(BFloat16, bfloat16)

#undef APPROX_NORM_OF

REGISTER_NORM("simd", passes_of_float, passes_of_bfloat16).rank(1);

}  // namespace approx
#endif
