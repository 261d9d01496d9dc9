// Normal draws in plain memory. Element i of the result belongs to word i % 4 of counter block i /
// 4. Words (0,1) and (2,3) become normal numbers by the transform of Box and Muller.
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

  // Loops fill out[begin, end), where begin is a multiple of 4. A launch fills all. The variants
  // agree up to float rounding.
  static at::Tensor run(const Work<Gaussian, float>& work, const Gaussian& plan,
                        const Operands& operands);
};
using GaussianArgs = Arguments<Gaussian, float>;

void gaussian_reference(const GaussianArgs& args, int64_t begin, int64_t end);
void gaussian_simd(const GaussianArgs& args, int64_t begin, int64_t end);

}  // namespace approx
