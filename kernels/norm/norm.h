// Batch normalisation, the addition and the ReLU after it, forward and backward in two passes over
// memory each, on plain pointers.
//
// A tensor with its channels last is [rows, channels]: one row per pixel. Few channels make short
// rows, which waste vectors; the caller then reads `fold` pixels as one row of fold * channels
// numbers, with per-channel arguments repeated `fold` times, and adds up sums over the folds.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/registry.h"

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

// y = tail(scale[c] * x + offset[c])
struct NormApply {
  int64_t channels = 0;
  NormTail tail = NormTail::kNone;
  const float* x = nullptr;                         // [rows,channels]
  const float *scale = nullptr, *offset = nullptr;  // [channels]
  const float* residual = nullptr;                  // [rows,channels], kAddRelu only
  float* y = nullptr;                               // [rows,channels]
};

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

// One way to compute the four, for rows [begin, end); registered in a file of its own as
//   REGISTER_NORM("simd", {moments, apply, sums, gradient}).rank(1);
// Of those that are no definition the one of least rank is taken.
struct NormPasses {
  void (*moments)(const NormMoments&, int64_t begin, int64_t end, float* sum, float* square);
  void (*apply)(const NormApply&, int64_t begin, int64_t end);
  void (*sums)(const NormSums&, int64_t begin, int64_t end, float* sum, float* product);
  void (*gradient)(const NormGradient&, int64_t begin, int64_t end);
};

struct NormVariant {
  static constexpr const char* kWhat = "norm kernel";
  std::string name;
  NormPasses passes{};
  int order = 0;
  bool is_definition = false;

  NormVariant& rank(int least_first) { return order = least_first, *this; }
  // In plain loops and double precision, which the others must agree with: taken only by its name.
  NormVariant& definition() { return is_definition = true, *this; }
};

inline NormVariant& register_norm(std::string name, NormPasses passes) {
  auto& variant = Registry<NormVariant>::instance().add(std::move(name));
  variant.passes = passes;
  return variant;
}

}  // namespace approx

#define REGISTER_NORM(NAME, ...)                                                \
  [[maybe_unused]] static ::approx::NormVariant& APPROX_UNIQUE(norm_variant_) = \
      ::approx::register_norm(NAME, __VA_ARGS__)
