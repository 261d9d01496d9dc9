// One read of dY: the sums of some vectors of channels stay in registers while pixels stream past.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/select/magnitude_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/bfloat16-inl.h"
// clang-format on

#include <cmath>

#include "kernels/select/magnitude.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Channels [first, first + kVectors * lanes) of one image.
template <int kVectors, typename Number>
void add_magnitudes(const MagnitudeArgs<Number>& a, int64_t image, int64_t first) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[kVectors];
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  const Number* pixel = a.dy + image * a.plane * a.co + first;
  for (int64_t p = 0; p < a.plane; ++p, pixel += a.co) {
    for (int v = 0; v < kVectors; ++v) {
      sum[v] = hn::Add(sum[v], hn::Abs(load_numbers(d, pixel + v * lanes)));
    }
  }
  float* to = a.sum + image * a.co + first;
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, to + v * lanes);
}

template <typename Number>
void magnitudes(const MagnitudeArgs<Number>& a, int64_t begin, int64_t end) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  for (int64_t image = begin; image < end; ++image) {
    int64_t c = 0;
    for (; c + 8 * lanes <= a.co; c += 8 * lanes) add_magnitudes<8>(a, image, c);
    if (c + 4 * lanes <= a.co) add_magnitudes<4>(a, image, c), c += 4 * lanes;
    for (; c + lanes <= a.co; c += lanes) add_magnitudes<1>(a, image, c);
    for (; c < a.co; ++c) {
      float sum = 0;
      for (int64_t p = 0; p < a.plane; ++p) {
        sum += std::abs(static_cast<float>(a.dy[(image * a.plane + p) * a.co + c]));
      }
      a.sum[image * a.co + c] = sum;
    }
  }
}

template <typename Number>
float magnitude(const Number* values, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int kSums = 8;
  hn::Vec<decltype(d)> sum[kSums];
  for (auto& own : sum) own = hn::Zero(d);
  int64_t i = 0;
  for (; i + kSums * lanes <= count; i += kSums * lanes) {
    for (int s = 0; s < kSums; ++s) {
      sum[s] = hn::Add(sum[s], hn::Abs(load_numbers(d, values + i + s * lanes)));
    }
  }
  for (; i + lanes <= count; i += lanes) {
    sum[0] = hn::Add(sum[0], hn::Abs(load_numbers(d, values + i)));
  }
  for (int s = 1; s < kSums; ++s) sum[0] = hn::Add(sum[0], sum[s]);
  float rest = 0;
  for (; i < count; ++i) rest += std::abs(static_cast<float>(values[i]));
  return rest + hn::GetLane(hn::SumOfLanes(d, sum[0]));
}

// What is chosen at run time has no overloads.
float magnitude_of_floats(const float* values, int64_t count) { return magnitude(values, count); }
float magnitude_of_bfloat16(const BFloat16* values, int64_t count) {
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

float magnitude_simd(const float* values, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(magnitude_of_floats)(values, count);
}
float magnitude_simd(const BFloat16* values, int64_t count) {
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
