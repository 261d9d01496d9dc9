// Normal draws on plain memory: element i of the result is word i % 4 of counter block i / 4,
// turned into a normal by Box and Muller's transform of words (0,1) and (2,3).
#pragma once

#include <cstdint>

#include "kernels/rng.h"
#include "kernels/variant.h"

namespace approx {

template <>
struct Arguments<Gaussian, float> {
  float mean = 0, stddev = 1;
  Rng rng;
  float* out = nullptr;  // in row-major order of w
  int64_t count = 0;

  // Loops fill out[begin, end); begin is a multiple of 4. A launch fills all. The variants agree to
  // float rounding.
  static at::Tensor run(const Work<Gaussian, float>& work, const Gaussian& plan,
                        const Operands& operands);
};
using GaussianArgs = Arguments<Gaussian, float>;

void gaussian_reference(const GaussianArgs& args, int64_t begin, int64_t end);
void gaussian_simd(const GaussianArgs& args, int64_t begin, int64_t end);

}  // namespace approx
