// How large dY and its planes are, on plain memory.
#pragma once

#include <cstdint>

namespace approx {

// For every plane (n, c) of dy, [N,Ho*Wo,Co] in memory: the sum of its magnitudes, added in the
// order of the pixels (by vectors in float, by the definition in double).
struct MagnitudeArgs {
  int64_t n = 0, plane = 0, co = 0;
  const float* dy = nullptr;  // [N,plane,Co]
  float* sum = nullptr;       // [N,Co]
};

// For images n in [begin, end).
void plane_magnitude_reference(const MagnitudeArgs& args, int64_t begin, int64_t end);
void plane_magnitude_simd(const MagnitudeArgs& args, int64_t begin, int64_t end);

// The sum of the magnitudes of `count` numbers, in float for some thousands of them.
float magnitude_simd(const float* values, int64_t count);

// The mean magnitude of `count` floats, on a GPU.
struct MeanMagnitudeArgs {
  int64_t count = 0;
  const float* values = nullptr;
  double* partial = nullptr;  // [kPartials], of what is in between
  float* mean = nullptr;      // []

  static constexpr int64_t kPartials = 1024;
};

}  // namespace approx
