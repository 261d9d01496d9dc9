// One read of dY: short sums of some vectors of channels stay in registers while pixels stream
// past.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/select/magnitude_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/bfloat16-inl.h"
#include "kernels/long_sums-inl.h"
// clang-format on

#include <algorithm>
#include <cmath>

#include "kernels/select/magnitude.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// In double from the first number on: where short sums leave the range of float.
template <typename Number>
double magnitude_in_double(const Number* values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::abs(double{static_cast<float>(values[i])});
  return sum;
}

// Channels [first, first + kVectors * lanes) of one image.
template <int kVectors, class D, typename Number>
HWY_INLINE void add_magnitudes(D d, const MagnitudeArgs<Number>& a, int64_t image, int64_t first) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Number* pixel = a.dy + image * a.plane * a.co + first;
  float* const to = a.sum + image * a.co + first;
  // The next pixels, at most kShortSum of them.
  hn::Vec<D> sum[kVectors];
  const auto add_pixels = [&](int64_t count) HWY_ATTR {
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
    for (int64_t p = 0; p < count; ++p, pixel += a.co) {
      for_each_vector<kVectors>(d, pixel, [&](int v, hn::Vec<D> values) HWY_ATTR {
        sum[v] = hn::Add(sum[v], hn::Abs(values));
      });
    }
  };
  if (a.plane <= kShortSum) {
    add_pixels(a.plane);
    store_vectors<Number>(d, sum, to);
    return;
  }
  HWY_ALIGN double total[kVectors * hn::MaxLanes(D())] = {};
  // (A number of pixels that the compiler knows would be unrolled, vector after vector.)
  for (int64_t left = a.plane; left > 0; left -= kShortSum) {
    add_pixels(std::min(left, kShortSum));
    for (int v = 0; v < kVectors; ++v) add_in_double(d, sum[v], total + v * lanes);
  }
  for (int v = 0; v < kVectors; ++v) sum[v] = load_doubles(d, total + v * lanes);
  store_vectors<Number>(d, sum, to);
}

template <typename Number>
void magnitudes(const MagnitudeArgs<Number>& a, int64_t begin, int64_t end) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t image = begin; image < end; ++image) {
    int64_t c = 0;
    for (; c + 8 * lanes <= a.co; c += 8 * lanes) add_magnitudes<8>(d, a, image, c);
    if (c + 4 * lanes <= a.co) add_magnitudes<4>(d, a, image, c), c += 4 * lanes;
    for (; c + lanes <= a.co; c += lanes) add_magnitudes<1>(d, a, image, c);
    for (; c < a.co; ++c) add_magnitudes<1>(Single(), a, image, c);
  }
}

template <typename Number>
double magnitude(const Number* values, int64_t count) {
  // A rounding for each vector of a sum behind the first, and three for the eight sums.
  constexpr int kSums = 8;
  constexpr int64_t kTurns = kShortSum - 3;
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<double> dd;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d)), step = kSums * lanes;
  auto low = hn::Zero(dd), high = hn::Zero(dd);
  int64_t i = 0;
  while (i + step <= count) {
    const int64_t end = std::min(i + kTurns * step, count);
    hn::Vec<decltype(d)> sum[kSums];
    for (auto& own : sum) own = hn::Zero(d);
    for (; i + step <= end; i += step) {
      for_each_vector<kSums>(d, values + i, [&](int s, hn::Vec<decltype(d)> next) HWY_ATTR {
        sum[s] = hn::Add(sum[s], hn::Abs(next));
      });
    }
    for (int half = kSums / 2; half > 0; half /= 2) {
      for (int s = 0; s < half; ++s) sum[s] = hn::Add(sum[s], sum[s + half]);
    }
    low = hn::Add(low, lower_in_double(sum[0]));
    high = hn::Add(high, upper_in_double(sum[0]));
  }
  for (; i + lanes <= count; i += lanes) {
    const auto sizes = hn::Abs(load_numbers(d, values + i));
    low = hn::Add(low, lower_in_double(sizes));
    high = hn::Add(high, upper_in_double(sizes));
  }
  const double all = magnitude_in_double(values + i, count - i) +
                     hn::GetLane(hn::SumOfLanes(dd, hn::Add(low, high)));
  return std::isfinite(all) ? all : magnitude_in_double(values, count);
}

// What is chosen at run time has no overloads.
double magnitude_of_floats(const float* values, int64_t count) { return magnitude(values, count); }
double magnitude_of_bfloat16(const BFloat16* values, int64_t count) {
  return magnitude(values, count);
}
void magnitudes_of_floats(const MagnitudeArgs<float>& a, int64_t begin, int64_t end) {
  magnitudes(a, begin, end);
}
void magnitudes_of_bfloat16(const MagnitudeArgs<BFloat16>& a, int64_t begin, int64_t end) {
  magnitudes(a, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(magnitude_of_floats);
HWY_EXPORT(magnitude_of_bfloat16);
HWY_EXPORT(magnitudes_of_floats);
HWY_EXPORT(magnitudes_of_bfloat16);

double magnitude_simd(const float* values, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(magnitude_of_floats)(values, count);
}
double magnitude_simd(const BFloat16* values, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(magnitude_of_bfloat16)(values, count);
}

void plane_magnitude_simd(const MagnitudeArgs<float>& args, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(magnitudes_of_floats)(args, begin, end);
}
void plane_magnitude_simd(const MagnitudeArgs<BFloat16>& args, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(magnitudes_of_bfloat16)(args, begin, end);
}

}  // namespace approx
#endif
