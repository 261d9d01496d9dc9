// One read of dY: the sums of some vectors of channels stay in registers while pixels stream past.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/select/magnitude_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>
// clang-format on

#include <cmath>

#include "kernels/select/magnitude.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Channels [first, first + kVectors * lanes) of one image.
template <int kVectors>
void add_magnitudes(const MagnitudeArgs& a, int64_t image, int64_t first) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[kVectors];
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  const float* pixel = a.dy + image * a.plane * a.co + first;
  for (int64_t p = 0; p < a.plane; ++p, pixel += a.co) {
    for (int v = 0; v < kVectors; ++v) {
      sum[v] = hn::Add(sum[v], hn::Abs(hn::LoadU(d, pixel + v * lanes)));
    }
  }
  float* to = a.sum + image * a.co + first;
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, to + v * lanes);
}

void magnitudes(const MagnitudeArgs& a, int64_t begin, int64_t end) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  for (int64_t image = begin; image < end; ++image) {
    int64_t c = 0;
    for (; c + 8 * lanes <= a.co; c += 8 * lanes) add_magnitudes<8>(a, image, c);
    if (c + 4 * lanes <= a.co) add_magnitudes<4>(a, image, c), c += 4 * lanes;
    for (; c + lanes <= a.co; c += lanes) add_magnitudes<1>(a, image, c);
    for (; c < a.co; ++c) {
      float sum = 0;
      for (int64_t p = 0; p < a.plane; ++p) {
        sum += std::abs(a.dy[(image * a.plane + p) * a.co + c]);
      }
      a.sum[image * a.co + c] = sum;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(magnitudes);

void plane_magnitude_simd(const MagnitudeArgs& args, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(magnitudes)(args, begin, end);
}

}  // namespace approx
#endif
