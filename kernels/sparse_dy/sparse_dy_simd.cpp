// The sparse weight gradient as patch accumulation, for every instruction set that Highway knows.
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

#include "kernels/simd_variant.h"
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

void weight_gradient(const Arguments<SparseDY, float>& a, int64_t begin, int64_t end) {
  const Problem& p = a.problem;
  const auto& [stride, padding, dilation, groups] = p.geometry;
  const int64_t row_size = p.kh * p.kw * p.ci;
  // Half of a small second-level cache for the rows, the rest for the images streaming past.
  constexpr int64_t kRowsBytes = 128 << 10;
  const int64_t group = std::max<int64_t>(1, kRowsBytes / (row_size * int64_t{sizeof(float)}));
  for (int64_t first = begin; first < end; first += group) {
    const int64_t last = std::min(first + group, end);
    std::memset(a.out + first * row_size, 0,
                static_cast<size_t>((last - first) * row_size) * sizeof(float));
    for (int64_t n = 0; n < p.n; ++n) {
      const float* image = a.x + n * p.h * p.w * p.ci;
      for (int64_t c = first; c < last; ++c) {
        float* row = a.out + c * row_size;
        const int64_t stop = a.row_start[n * p.co + c + 1];
        for (int64_t e = a.row_start[n * p.co + c]; e < stop; ++e) {
          const int64_t top = a.position[e] / p.wo * stride.h - padding.h;
          const int64_t left = a.position[e] % p.wo * stride.w - padding.w;
          for (int64_t r = 0; r < p.kh; ++r) {
            const int64_t y = top + r * dilation.h;
            if (y < 0 || y >= p.h) continue;
            if (dilation.w == 1) {  // the taps of a row are neighbours: one run, clipped to the map
              const int64_t s0 = std::max<int64_t>(0, -left);
              const int64_t s1 = std::min(p.kw, p.w - left);
              if (s0 < s1) {
                add_scaled(a.value[e], image + (y * p.w + left + s0) * p.ci,
                           row + (r * p.kw + s0) * p.ci, (s1 - s0) * p.ci);
              }
              continue;
            }
            for (int64_t s = 0; s < p.kw; ++s) {
              const int64_t x = left + s * dilation.w;
              if (x < 0 || x >= p.w) continue;
              add_scaled(a.value[e], image + (y * p.w + x) * p.ci, row + (r * p.kw + s) * p.ci,
                         p.ci);
            }
          }
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {
namespace {

REGISTER_SIMD_KERNEL(SparseDY, "simd", weight_gradient)
    .computes({Product::kWeightGradient})
    .where([](const Problem& p) { return p.one_group() && p.n * p.co * p.ho * p.wo > 0; })
    .rank(1);

}  // namespace
}  // namespace approx
#endif
