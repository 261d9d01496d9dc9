// Batch normalisation, the addition and the ReLU after it, forward and backward in two passes over
// memory each, on plain pointers.
//
// A tensor with its channels last is [rows, channels]: one row per pixel. Few channels make short
// rows, which waste vectors; the caller then reads `fold` pixels as one row of fold * channels
// numbers, with per-channel arguments repeated `fold` times, and adds up sums over the folds.
#pragma once

#include <cstdint>

namespace approx {

// What follows the normalisation: nothing, y = max(0, norm(x)), or y = max(0, norm(x) + residual).
enum class NormTail { kNone, kRelu, kAddRelu };

// sum[c] = sum over rows of x - shift[c], square[c] = that of its square. A shift near the mean
// keeps the variance from cancelling. Overwrites sum and square.
struct NormMoments {
  int64_t channels = 0;
  const float* x = nullptr;      // [rows,channels]
  const float* shift = nullptr;  // [channels]
};
void norm_moments_simd(const NormMoments& args, int64_t begin, int64_t end, float* sum,
                       float* square);

// y = tail(scale[c] * x + offset[c])
struct NormApply {
  int64_t channels = 0;
  NormTail tail = NormTail::kNone;
  const float* x = nullptr;                         // [rows,channels]
  const float *scale = nullptr, *offset = nullptr;  // [channels]
  const float* residual = nullptr;                  // [rows,channels], kAddRelu only
  float* y = nullptr;                               // [rows,channels]
};
void norm_apply_simd(const NormApply& args, int64_t begin, int64_t end);

// The gradient behind the tail is g = dy where the result y was not cut off, zero elsewhere. After
// kRelu the sign of y is computed from x again, by the same operations: that costs nothing beside
// reading y. After kAddRelu y is read.
//   sum[c] = sum over rows of g, product[c] = sum over rows of g * (x - mean[c]),
// overwriting them; g itself goes to dresidual with kAddRelu.
struct NormSums {
  int64_t channels = 0;
  NormTail tail = NormTail::kNone;
  const float *dy = nullptr, *x = nullptr;          // [rows,channels]
  const float* y = nullptr;                         // [rows,channels], kAddRelu only
  const float *scale = nullptr, *offset = nullptr;  // [channels] of the forward pass, kRelu only
  const float* mean = nullptr;                      // [channels]
  float* dresidual = nullptr;                       // [rows,channels], kAddRelu only
};
void norm_sums_simd(const NormSums& args, int64_t begin, int64_t end, float* sum, float* product);

// dx = a[c] * g + b[c] * x + d[c]. After kAddRelu the caller passes what went to dresidual as dy,
// and no relu.
struct NormGradient {
  int64_t channels = 0;
  bool relu = false;
  const float *dy = nullptr, *x = nullptr;               // [rows,channels]
  const float *scale = nullptr, *offset = nullptr;       // [channels], with relu only
  const float *a = nullptr, *b = nullptr, *d = nullptr;  // [channels]
  float* dx = nullptr;
};
void norm_gradient_simd(const NormGradient& args, int64_t begin, int64_t end);

}  // namespace approx
