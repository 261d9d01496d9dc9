// What GELU and CELU are computed from in single precision, on the CPU and on a GPU.
//
// GELU(z) = z Phi(z), with the slope Phi(z) + z phi(z), where Phi and phi are the distribution and
// the density of the normal law. With a = |z|, E = exp(-a^2 / 2) and t = 1 / (1 + kTailScale a),
//   Phi(-a) = E M(t),   Phi(a) = 1 - E M(t),   phi(a) = E / sqrt(2 pi),
// where M is the polynomial kMills. That keeps the relative accuracy of Phi far below zero, where
// 1 + erf(z / sqrt 2) cancels. a^2 is rounded, and what is lost there goes into E as a factor.
//
// CELU(z) = max(0, z) + min(0, alpha (exp(z / alpha) - 1)); its slope is exp(z / alpha) below zero.
//
// Errors on the CPU against double precision, over all floats: GELU 6e-7 of itself and its slope
// 6e-7 of Phi(z) + |z| phi(z), CELU 3e-7 of itself and its slope 1e-7; beside them 5e-44, which is
// what denormal numbers cannot hold. At the infinities they are their limits. A NaN stays one.
#pragma once

#include <cstddef>

namespace approx {

// Beyond it, Phi is 0 or 1 in single precision, denormal numbers included.
inline constexpr float kFarthestNormal = 15;

inline constexpr float kTailScale = 0.27F;

// exp(a^2 / 2) Phi(-a) as a polynomial in t, lowest power first: within 2e-8 of it, relatively,
// for a from 0 to 14.5. By least squares, reweighted until all extremes were alike.
inline constexpr float kMills[] = {4.10799657e-06F, 0.10763742F,  0.108262204F,   0.0983282924F,
                                   0.0824705437F,   0.08779791F,  -0.0444379449F, 0.15072529F,
                                   -0.118188396F,   0.0274005793F};
inline constexpr size_t kMillsCount = sizeof(kMills) / sizeof(kMills[0]);

inline constexpr float kDensityAtZero = 0.398942280F;  // 1 / sqrt(2 pi)

}  // namespace approx
