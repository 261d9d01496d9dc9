// The width of the vectors that the kernels compute with.
#pragma once

#include <cstdint>

namespace approx {

// Floats in a vector of the instruction set that Highway chose on this machine: 4 (SSE4, NEON),
// 8 (AVX2) or 16 (AVX-512).
int64_t float_lanes();

// A limit for rules: the lanes of AVX2.
inline constexpr int64_t kAvx2Lanes = 8;

}  // namespace approx
