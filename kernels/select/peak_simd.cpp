// The peak of every plane, for every instruction set that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/select/peak_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/bfloat16-inl.h"
// clang-format on

#include <cmath>

#include "kernels/select/peak.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One vector of channels at a time would read each cache line of a pixel in passes far apart, so a
// strip of kStrip vectors goes down the plane together, its running maxima in registers.
template <int kStrip, typename Number>
HWY_INLINE void peak_strip(const PeakArgs<Number>& a, int64_t n, int64_t c) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Number* in = a.dy + n * a.plane * a.co + c;
  hn::Vec<decltype(d)> best[kStrip], sum[kStrip];
  hn::Vec<decltype(di)> at[kStrip];
  for (int v = 0; v < kStrip; ++v) {
    sum[v] = load_numbers(d, in + v * lanes);
    best[v] = hn::Abs(sum[v]);
    at[v] = hn::Zero(di);
  }
  for (int64_t p = 1; p < a.plane; ++p) {
    const auto here = hn::Set(di, static_cast<int32_t>(p));
    for (int v = 0; v < kStrip; ++v) {
      const auto value = load_numbers(d, in + p * a.co + v * lanes);
      const auto magnitude = hn::Abs(value);
      const auto larger = hn::Gt(magnitude, best[v]);  // strict: the first of equals stays
      sum[v] = hn::Add(sum[v], value);
      best[v] = hn::IfThenElse(larger, magnitude, best[v]);
      at[v] = hn::IfThenElse(hn::RebindMask(di, larger), here, at[v]);
    }
  }
  for (int v = 0; v < kStrip; ++v) {
    hn::StoreU(at[v], di, a.position + n * a.co + c + v * lanes);
    hn::StoreU(sum[v], d, a.sum + n * a.co + c + v * lanes);
  }
}

template <typename Number>
void plane_peak(const PeakArgs<Number>& a, int64_t begin, int64_t end) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t n = begin; n < end; ++n) {
    int64_t c = 0;
    for (; c + 4 * lanes <= a.co; c += 4 * lanes) peak_strip<4>(a, n, c);
    for (; c + lanes <= a.co; c += lanes) peak_strip<1>(a, n, c);
    for (; c < a.co; ++c) {
      const Number* in = a.dy + n * a.plane * a.co + c;
      auto sum = static_cast<float>(in[0]), best = std::abs(sum);
      int32_t at = 0;
      for (int64_t p = 1; p < a.plane; ++p) {
        const auto value = static_cast<float>(in[p * a.co]);
        sum += value;
        if (std::abs(value) > best) {
          best = std::abs(value);
          at = static_cast<int32_t>(p);
        }
      }
      a.position[n * a.co + c] = at;
      a.sum[n * a.co + c] = sum;
    }
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
