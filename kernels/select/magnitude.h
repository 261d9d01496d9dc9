// The magnitudes of dY and its planes, on plain memory.
#pragma once

#include <cstdint>

#include "kernels/bfloat16.h"

namespace approx {

// The sum of magnitudes of every plane (n, c) of dy, [N,Ho*Wo,Co] in memory, to 1e-6 of it
// (kernels/long_sums.h). It is infinite beyond the range of float. A plane of up to 16 pixels is
// added up in float in the order of the pixels; the definition adds in double.
template <typename Number>
struct MagnitudeArgs {
  int64_t n = 0, plane = 0, co = 0;
  const Number* dy = nullptr;  // [N,plane,Co]
  float* sum = nullptr;        // [N,Co]
};

// For images n in [begin, end).
template <typename Number>
void plane_magnitude_reference(const MagnitudeArgs<Number>& args, int64_t begin, int64_t end);
void plane_magnitude_simd(const MagnitudeArgs<float>& args, int64_t begin, int64_t end);
void plane_magnitude_simd(const MagnitudeArgs<BFloat16>& args, int64_t begin, int64_t end);

// The sum of the magnitudes of `count` numbers, to 1e-6 of it (kernels/long_sums.h). Finite if all
// numbers are.
double magnitude_simd(const float* values, int64_t count);
double magnitude_simd(const BFloat16* values, int64_t count);

// The sums of magnitudes of planes on a GPU, each to 1e-6 of it. Finite if all of dy is.
template <typename Number>
struct PlaneMagnitudesOnGpu {
  int64_t n = 0, plane = 0, co = 0;
  const Number* dy = nullptr;  // [N,plane,Co]
  double* sum = nullptr;       // [N,Co]
};

// The mean magnitude of `count` numbers on a GPU, to 1e-6 of it. Finite if all numbers are.
template <typename Number>
struct MeanMagnitudeArgs {
  int64_t count = 0;
  const Number* values = nullptr;
  double* partial = nullptr;  // [kMostPartials], for intermediate sums
  float* mean = nullptr;      // []
};
constexpr int64_t kMostPartials = 1024;

}  // namespace approx
