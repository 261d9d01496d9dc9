// The position that represents a plane of dY, on plain memory.
#pragma once

#include <cstdint>

#include "kernels/bfloat16.h"

namespace approx {

// Two results for every plane (n, c) of dy, [N,Ho*Wo,Co] in memory (Wang et al. 2019, Algorithm 1,
// lines 4 and 5). They are the position of its largest magnitude (the first of equal ones) and the
// signed sum of the plane.
template <typename Number>
struct PeakArgs {
  int64_t n = 0, plane = 0, co = 0;
  const Number* dy = nullptr;   // [N,plane,Co]
  int32_t* position = nullptr;  // [N,Co]
  float* sum = nullptr;         // [N,Co]
};

// For images n in [begin, end).
template <typename Number>
void plane_peak_reference(const PeakArgs<Number>& args, int64_t begin, int64_t end);
void plane_peak_simd(const PeakArgs<float>& args, int64_t begin, int64_t end);
void plane_peak_simd(const PeakArgs<BFloat16>& args, int64_t begin, int64_t end);

}  // namespace approx
