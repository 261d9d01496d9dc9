// The sparse weight gradient as patch accumulation, and the peak of every plane, for every
// instruction set that Highway knows.
//
// An entry adds value * (patch of x) to its row of dW. With the channels last, a patch is kh rows
// of kw * ci neighbouring numbers (dilation 1), so the inner loop is a plain multiply-add over
// memory. Rows of dW are taken in groups that stay in the second-level cache while the images
// stream past: the other order would read and write all of dW once per image.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sparse_dy/sparse_dy_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstring>

#include "kernels/sparse_dy/sparse_dy.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// out[0, count) += value * in[0, count)
HWY_INLINE void add_scaled(float value, const float* HWY_RESTRICT in, float* HWY_RESTRICT out,
                           int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, value);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto s0 = hn::MulAdd(factor, hn::LoadU(d, in + i), hn::LoadU(d, out + i));
    const auto s1 = hn::MulAdd(factor, hn::LoadU(d, in + i + lanes), hn::LoadU(d, out + i + lanes));
    const auto s2 =
        hn::MulAdd(factor, hn::LoadU(d, in + i + 2 * lanes), hn::LoadU(d, out + i + 2 * lanes));
    const auto s3 =
        hn::MulAdd(factor, hn::LoadU(d, in + i + 3 * lanes), hn::LoadU(d, out + i + 3 * lanes));
    hn::StoreU(s0, d, out + i);
    hn::StoreU(s1, d, out + i + lanes);
    hn::StoreU(s2, d, out + i + 2 * lanes);
    hn::StoreU(s3, d, out + i + 3 * lanes);
  }
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, in + i), hn::LoadU(d, out + i)), d, out + i);
  }
  for (; i < count; ++i) out[i] += value * in[i];
}

void weight_gradient(const SparseDYArgs& a, int64_t begin, int64_t end) {
  const int64_t row_size = a.kh * a.kw * a.ci;
  // Half of a small second-level cache for the rows, the rest for the images streaming past.
  constexpr int64_t kRowsBytes = 128 * 1024;
  const int64_t group = std::max<int64_t>(1, kRowsBytes / (row_size * int64_t{sizeof(float)}));
  for (int64_t first = begin; first < end; first += group) {
    const int64_t last = std::min(first + group, end);
    std::memset(a.dw + first * row_size, 0,
                static_cast<size_t>((last - first) * row_size) * sizeof(float));
    for (int64_t n = 0; n < a.n; ++n) {
      const float* image = a.x + n * a.h * a.w * a.ci;
      for (int64_t c = first; c < last; ++c) {
        float* row = a.dw + c * row_size;
        const int64_t stop = a.row_start[n * a.co + c + 1];
        for (int64_t e = a.row_start[n * a.co + c]; e < stop; ++e) {
          const int64_t top = a.position[e] / a.wo * a.stride - a.padding;
          const int64_t left = a.position[e] % a.wo * a.stride - a.padding;
          for (int64_t r = 0; r < a.kh; ++r) {
            const int64_t y = top + r * a.dilation;
            if (y < 0 || y >= a.h) continue;
            if (a.dilation == 1) {  // the taps of a row are neighbours: one run, clipped to the map
              const int64_t s0 = std::max<int64_t>(0, -left);
              const int64_t s1 = std::min(a.kw, a.w - left);
              if (s0 < s1) {
                add_scaled(a.value[e], image + (y * a.w + left + s0) * a.ci,
                           row + (r * a.kw + s0) * a.ci, (s1 - s0) * a.ci);
              }
              continue;
            }
            for (int64_t s = 0; s < a.kw; ++s) {
              const int64_t x = left + s * a.dilation;
              if (x < 0 || x >= a.w) continue;
              add_scaled(a.value[e], image + (y * a.w + x) * a.ci, row + (r * a.kw + s) * a.ci,
                         a.ci);
            }
          }
        }
      }
    }
  }
}

// One vector of channels at a time would read each cache line of a pixel in passes far apart, so a
// strip of kStrip vectors goes down the plane together, its running maxima in registers.
template <int kStrip>
HWY_INLINE void peak_strip(const PeakArgs& a, int64_t n, int64_t c) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* in = a.dy + n * a.plane * a.co + c;
  hn::Vec<decltype(d)> best[kStrip], sum[kStrip];
  hn::Vec<decltype(di)> at[kStrip];
  for (int v = 0; v < kStrip; ++v) {
    sum[v] = hn::LoadU(d, in + v * lanes);
    best[v] = hn::Abs(sum[v]);
    at[v] = hn::Zero(di);
  }
  for (int64_t p = 1; p < a.plane; ++p) {
    const auto here = hn::Set(di, static_cast<int32_t>(p));
    for (int v = 0; v < kStrip; ++v) {
      const auto value = hn::LoadU(d, in + p * a.co + v * lanes);
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

void plane_peak(const PeakArgs& a, int64_t begin, int64_t end) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t n = begin; n < end; ++n) {
    int64_t c = 0;
    for (; c + 4 * lanes <= a.co; c += 4 * lanes) peak_strip<4>(a, n, c);
    for (; c + lanes <= a.co; c += lanes) peak_strip<1>(a, n, c);
    for (; c < a.co; ++c) {
      const float* in = a.dy + n * a.plane * a.co + c;
      float sum = in[0], best = std::abs(in[0]);
      int32_t at = 0;
      for (int64_t p = 1; p < a.plane; ++p) {
        const float value = in[p * a.co];
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

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(weight_gradient);
HWY_EXPORT(plane_peak);

void sparse_dy_weight_gradient_simd(const SparseDYArgs& args, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(weight_gradient)(args, begin, end);
}

void plane_peak_simd(const PeakArgs& args, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(plane_peak)(args, begin, end);
}

}  // namespace approx
#endif
