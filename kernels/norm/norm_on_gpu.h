// Batch norms on a GPU, on plain pointers of its memory. Tensors are [rows,channels] with the
// channels last: a row is a pixel. The passes are those of kernels/norm/norm.h, whose arguments say
// what is computed; here a pass over all rows is one launch.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/norm/gradient_visitor.h"
#include "kernels/norm/norm.h"

namespace approx {

// Mean, biased variance and 1 / sqrt(variance + epsilon) of every channel. The first row is the
// shift of the sums.
template <typename Number>
struct NormStatisticsOnGpu {
  int64_t rows = 0, channels = 0;
  const Number *x = nullptr;  // [rows,channels]
  double epsilon = 0;
  float *partial = nullptr;  // [row_blocks,2,channels]
  float *mean = nullptr, *variance = nullptr, *inverse_deviation = nullptr;  // [channels]
};

template <typename Number>
struct NormApplyOnGpu {
  int64_t rows = 0;
  NormApply<Number> pass;
};

// Sums of the gradient, and what NormGradient and the parameters make of them.
template <typename Number>
struct NormSumsOnGpu {
  int64_t rows = 0;
  NormSums<Number> pass;
  const float *weight = nullptr, *inverse_deviation = nullptr;  // [channels]
  float *partial = nullptr;                                     // [row_blocks,2,channels]
  float *dweight = nullptr, *dbias = nullptr;                   // [channels]
  float *a = nullptr, *b = nullptr, *d = nullptr;               // [channels], of NormGradient
};

template <typename Number>
struct NormGradientOnGpu {
  int64_t rows = 0;
  NormGradient<Number> pass;
  // Where somebody looks at dx: what for, and room for sums of magnitudes.
  GradientLook look;
  double *partial = nullptr;  // [most_norm_blocks]; null: nobody does
};

// The most blocks that write such a matrix.
constexpr int64_t most_norm_blocks(int64_t rows, int64_t channels) {
  return row_blocks(rows) * blocks_of(channels, kWarp);
}

}  // namespace approx
