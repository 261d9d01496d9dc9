// GELU and CELU after a batch norm, on a GPU.
#pragma once

#include <cmath>

#include "kernels/gpu/kernel.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/smooth_tails.h"

namespace approx {

// The polynomial kMills at t, from the power kFrom on.
template <size_t kFrom = 0>
APPROX_GPU float mills_of(float t) {
  constexpr float kFactor = kMills[kFrom];
  if constexpr (kFrom + 1 == kMillsCount) {
    return kFactor;
  } else {
    return std::fma(mills_of<kFrom + 1>(t), t, kFactor);
  }
}

struct NormalLawOnGpu {
  float distribution, density;
};

// Phi(z) and phi(z), for |z| <= kFarthestNormal.
APPROX_GPU NormalLawOnGpu normal_law_on_gpu(float z) {
  const float a = std::fabs(z);
  const float square = a * a;
  const float lost = std::fma(-0.5F, std::fma(a, a, -square), 1.0F);
  const float e = std::exp(-0.5F * square) * lost;
  const float tail = e * mills_of(1 / std::fma(kTailScale, a, 1.0F));
  return {z < 0 ? tail : 1 - tail, e * kDensityAtZero};
}

// The smooth tail of z and its slope there; a tail that adds a residual gets z with the residual
// added. alpha is for kCelu. (A NaN stays a NaN.)
APPROX_GPU float smooth_tail_on_gpu(NormTail tail, float alpha, float z) {
  if (tail == NormTail::kCelu) return z > 0 ? z : alpha * std::expm1(z / alpha);
  const float low = z < -kFarthestNormal ? -kFarthestNormal : z;
  return low * normal_law_on_gpu(low > kFarthestNormal ? kFarthestNormal : low).distribution;
}
APPROX_GPU float smooth_slope_on_gpu(NormTail tail, float alpha, float z) {
  if (tail == NormTail::kCelu) return z > 0 ? 1 : std::exp(z / alpha);
  const float low = z < -kFarthestNormal ? -kFarthestNormal : z;
  const float near = low > kFarthestNormal ? kFarthestNormal : low;
  const NormalLawOnGpu law = normal_law_on_gpu(near);
  return std::fma(near, law.density, law.distribution);
}

}  // namespace approx
