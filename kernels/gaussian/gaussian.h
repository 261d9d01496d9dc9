// Normal draws: element i of the result is word i % 4 of counter block i / 4, turned into a normal
// by Box and Muller's transform of words (0,1) and (2,3).
#pragma once

#include <cstdint>

#include "kernels/rng.h"

namespace approx {

struct GaussianArgs {
  float mean = 0, stddev = 1;
  Rng rng;
  float* out = nullptr;
};

// Fill out[begin, end); begin is a multiple of 4. The variants agree to float rounding.
void gaussian_reference(const GaussianArgs& args, int64_t begin, int64_t end);
void gaussian_simd(const GaussianArgs& args, int64_t begin, int64_t end);

}  // namespace approx
