// The peak of every plane, for every instruction set that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/select/peak_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/bfloat16-inl.h"
#include "kernels/long_sums-inl.h"
// clang-format on

#include <algorithm>
#include <cmath>

#include "kernels/select/peak.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// In double from the first number on: where short sums leave the range of float.
template <typename Number>
float sum_in_double(const Number* values, int64_t count, int64_t step) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += double{static_cast<float>(values[i * step])};
  return static_cast<float>(sum);
}

// One vector of channels at a time would read each cache line of a pixel in passes far apart, so a
// strip of kStrip vectors goes down the plane together, its running maxima in registers.
template <int kStrip, class D, typename Number>
HWY_INLINE void peak_strip(D d, const PeakArgs<Number>& a, int64_t n, int64_t c) {
  const hn::RebindToSigned<D> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Number* const in = a.dy + n * a.plane * a.co + c;
  hn::Vec<D> best[kStrip], sum[kStrip];
  hn::Vec<decltype(di)> at[kStrip];
  for_each_vector<kStrip>(d, in, [&](int v, hn::Vec<D> value) HWY_ATTR {
    sum[v] = value;
    best[v] = hn::Abs(value);
    at[v] = hn::Zero(di);
  });
  const auto add_pixel = [&](const Number* pixel, hn::Vec<decltype(di)> here) HWY_ATTR {
    for_each_vector<kStrip>(d, pixel, [&](int v, hn::Vec<D> value) HWY_ATTR {
      const auto magnitude = hn::Abs(value);
      const auto larger = hn::Gt(magnitude, best[v]);  // strict: the first of equals stays
      sum[v] = hn::Add(sum[v], value);
      best[v] = hn::IfThenElse(larger, magnitude, best[v]);
      at[v] = hn::IfThenElse(hn::RebindMask(di, larger), here, at[v]);
    });
  };
  // A short sum after the other. (A number of pixels that the compiler knows would be unrolled,
  // vector after vector.)
  const bool is_short = a.plane <= kShortSum;
  HWY_ALIGN double total[kStrip * hn::MaxLanes(D())];
  for (int v = 0; v < kStrip && !is_short; ++v) {
    store_in_double(d, hn::Zero(d), total + v * lanes);
  }
  for (int64_t p = 1, end = std::min(a.plane, kShortSum);;) {
    const Number* pixel = in + p * a.co;
    // Two at a time pay for the additions in double, where there are registers for them (wider
    // targets have lower numbers).
    if constexpr (kStrip > 1 && HWY_TARGET <= HWY_AVX3) {
      auto here = hn::Set(di, static_cast<int32_t>(p));
      const auto one = hn::Set(di, 1);
      for (; p + 2 <= end; p += 2, pixel += 2 * a.co) {
        add_pixel(pixel, here);
        here = hn::Add(here, one);
        add_pixel(pixel + a.co, here);
        here = hn::Add(here, one);
      }
    }
    for (; p < end; ++p, pixel += a.co) add_pixel(pixel, hn::Set(di, static_cast<int32_t>(p)));
    if (is_short) break;
    for (int v = 0; v < kStrip; ++v) {
      add_in_double(d, sum[v], total + v * lanes);
      sum[v] = hn::Zero(d);
    }
    if (end == a.plane) break;
    end = std::min(p + kShortSum, a.plane);
  }
  float* const to = a.sum + n * a.co + c;
  for (int v = 0; v < kStrip && !is_short; ++v) sum[v] = load_doubles(d, total + v * lanes);
  store_vectors<Number>(di, at, a.position + n * a.co + c);
  store_vectors<Number>(d, sum, to);
  auto any = sum[0];
  for (int v = 1; v < kStrip; ++v) any = hn::Add(any, sum[v]);
  if (all_finite(d, any)) return;
  for (int64_t i = 0; i < kStrip * lanes; ++i) {
    if (!std::isfinite(to[i])) to[i] = sum_in_double(in + i, a.plane, a.co);
  }
}

template <typename Number>
void plane_peak(const PeakArgs<Number>& a, int64_t begin, int64_t end) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t n = begin; n < end; ++n) {
    int64_t c = 0;
    for (; c + 4 * lanes <= a.co; c += 4 * lanes) peak_strip<4>(d, a, n, c);
    for (; c + lanes <= a.co; c += lanes) peak_strip<1>(d, a, n, c);
    for (; c < a.co; ++c) peak_strip<1>(Single(), a, n, c);
  }
}

// What is chosen at run time has no overloads.
void plane_peak_of_floats(const PeakArgs<float>& a, int64_t begin, int64_t end) {
  plane_peak(a, begin, end);
}
void plane_peak_of_bfloat16(const PeakArgs<BFloat16>& a, int64_t begin, int64_t end) {
  plane_peak(a, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(plane_peak_of_floats);
HWY_EXPORT(plane_peak_of_bfloat16);

void plane_peak_simd(const PeakArgs<float>& args, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(plane_peak_of_floats)(args, begin, end);
}
void plane_peak_simd(const PeakArgs<BFloat16>& args, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(plane_peak_of_bfloat16)(args, begin, end);
}

}  // namespace approx
#endif
