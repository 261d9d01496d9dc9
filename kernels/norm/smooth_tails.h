// GELU and CELU in single precision, on the CPU and on a GPU: formulas, constants and errors.
//
// GELU(z) = z Phi(z), with the slope Phi(z) + z phi(z), where Phi and phi are the distribution and
// the density of the normal law. With a = |z|, E = exp(-a^2 / 2) and t = 1 / (1 + kTailScale a),
//   Phi(-a) = E M(t),   Phi(a) = 1 - E M(t),   phi(a) = E / sqrt(2 pi),
// where M is the polynomial kMills. That keeps the relative accuracy of Phi far below zero, where
// 1 + erf(z / sqrt 2) cancels. The square a^2 is rounded; its rounding error is put into E as a
// factor.
//
// CELU(z) = max(0, z) + min(0, alpha (exp(z / alpha) - 1)); its slope is exp(z / alpha) below zero.
//
// Errors on the CPU against double precision, over all floats: GELU 6e-7 of itself, its slope 6e-7
// of Phi(z) + |z| phi(z). CELU 3e-7 of itself, its slope 1e-7. Additional errors are up to 5e-44,
// which denormal numbers cannot represent. At the infinities they have their limits. A NaN stays a
// NaN.
#pragma once

#include <cstddef>

namespace approx {

// Beyond it, Phi is 0 or 1 in single precision, denormal numbers included.
inline constexpr float kFarthestNormal = 15;

inline constexpr float kTailScale = 0.27F;

// exp(a^2 / 2) Phi(-a) as a polynomial in t, lowest power first. Its relative error is within 2e-8
// for a from 0 to 14.5. It was fitted by least squares, reweighted until all extremes were equal.
inline constexpr float kMills[] = {4.10799657e-06F, 0.10763742F,  0.108262204F,   0.0983282924F,
                                   0.0824705437F,   0.08779791F,  -0.0444379449F, 0.15072529F,
                                   -0.118188396F,   0.0274005793F};
inline constexpr size_t kMillsCount = sizeof(kMills) / sizeof(kMills[0]);

inline constexpr float kDensityAtZero = 0.398942280F;  // 1 / sqrt(2 pi)

}  // namespace approx
