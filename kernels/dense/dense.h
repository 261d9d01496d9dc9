// The exact product on plain memory.
#pragma once

#include <algorithm>

#include "kernels/probe/lanes.h"
#include "kernels/variant.h"

namespace approx {

template <typename Real>
struct Arguments<Dense, Real> : Arrays<Real> {
  static at::Tensor run(const Work<Dense, Real>& work, const Dense& plan, const Operands& operands);
};

// Whether `direct` pays on small maps, with AVX-512 and enough images
// (docs/internals/performance.md). It is then faster than matrix products for each tap and than the
// library's convolution.
inline bool direct_pays_on_small_maps(const Problem& p) {
  constexpr int64_t kPixels = 16, kChannels = 128;
  if (float_lanes() <= kAvx2Lanes || p.geometry.stride != Spatial(1)) return false;
  if (p.kh * p.kw < 9 || p.h * p.w > kPixels || std::min(p.ci, p.co) < kChannels) return false;
  return p.n >= (p.product == Product::kForward ? 64 : 32);
}

}  // namespace approx
