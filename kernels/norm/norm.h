// Batch normalisation with the ReLU, GELU or CELU after it, and an addition before the ReLU or
// GELU, forward and backward in two passes over memory each, on plain pointers.
//
// A tensor with its channels last is [rows, channels]: one row per pixel. Few channels make short
// rows, which waste vectors; the caller then reads `fold` pixels as one row of fold * channels
// numbers, with per-channel arguments repeated `fold` times, and adds up sums over the folds.
//
// Maps may have less precision than what is computed of them in between, and their channels'
// arguments: a Number is rounded where it is stored and nowhere else.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "base/registry.h"
#include "kernels/bfloat16.h"

namespace approx {

// What follows the normalisation z: nothing, y = max(0, z), y = max(0, z + residual), or one of
// those of kernels/norm/smooth_tails.h: GELU(z) = z Phi(z), where Phi is the normal distribution
// (Hendrycks & Gimpel 2016), CELU(z) = max(0, z) + min(0, alpha (exp(z / alpha) - 1)) (Barron
// 2017), GELU(z + residual).
enum class NormTail { kNone, kRelu, kAddRelu, kGelu, kCelu, kAddGelu };

// Whether the gradient behind the tail is dy times a slope.
constexpr bool is_smooth(NormTail tail) {
  return tail == NormTail::kGelu || tail == NormTail::kCelu || tail == NormTail::kAddGelu;
}

// Whether the tail adds a residual to z before anything else.
constexpr bool adds_residual(NormTail tail) {
  return tail == NormTail::kAddRelu || tail == NormTail::kAddGelu;
}

// The tail as NormGradient has it in `smooth`.
constexpr NormTail smooth_without_residual(NormTail tail) {
  return is_smooth(tail) && !adds_residual(tail) ? tail : NormTail::kNone;
}

// sum[c] = sum over rows of x - shift[c], square[c] = that of its square. A shift near the mean
// keeps the variance from cancelling. Overwrites sum and square.
template <typename Number>
struct NormMoments {
  int64_t channels = 0;
  const Number* x = nullptr;     // [rows,channels]
  const float* shift = nullptr;  // [channels]
};

// y = tail(scale[c] * x + offset[c])
template <typename Number>
struct NormApply {
  int64_t channels = 0;
  NormTail tail = NormTail::kNone;
  const Number* x = nullptr;                        // [rows,channels]
  const float *scale = nullptr, *offset = nullptr;  // [channels]
  const Number* residual = nullptr;                 // [rows,channels], of a tail that adds it
  Number* y = nullptr;                              // [rows,channels]
  float alpha = 1;                                  // kCelu only, above 0
};

// The gradient behind the tail is g = dy where the result y was not cut off, zero elsewhere; behind
// a smooth tail it is dy times the slope at z, after kAddGelu at z + residual. After all but
// kAddRelu z = scale x + offset is computed from x again, by the same operations: that costs less
// than reading it. After kAddRelu y is read. After kAddGelu the residual is: it lies in memory
// anyway, where z + residual would have to be written first, to be read just as often.
//   sum[c] = sum over rows of g, product[c] = sum over rows of g * (x - mean[c]),
// overwriting them, where g is not rounded; a tail that adds a residual has g go to dresidual.
template <typename Number>
struct NormSums {
  int64_t channels = 0;
  NormTail tail = NormTail::kNone;
  const Number *dy = nullptr, *x = nullptr;         // [rows,channels]
  const Number* y = nullptr;                        // [rows,channels], kAddRelu only
  const Number* residual = nullptr;                 // [rows,channels], kAddGelu only
  const float *scale = nullptr, *offset = nullptr;  // [channels] of the forward pass, where z is
  const float* mean = nullptr;                      // [channels]
  Number* dresidual = nullptr;                      // [rows,channels], of a tail that adds
  float alpha = 1;                                  // kCelu only
};

// dx = a[c] * g + b[c] * x + d[c]. After a tail that adds a residual the caller passes what went to
// dresidual as dy, no relu and nothing smooth. After kGelu and kCelu `smooth` is that tail, kNone
// otherwise.
template <typename Number>
struct NormGradient {
  int64_t channels = 0;
  bool relu = false;
  const Number *dy = nullptr, *x = nullptr;              // [rows,channels]
  const float *scale = nullptr, *offset = nullptr;       // [channels], with relu or a smooth tail
  const float *a = nullptr, *b = nullptr, *d = nullptr;  // [channels]
  Number* dx = nullptr;                                  // [rows,channels]
  NormTail smooth = NormTail::kNone;
  float alpha = 1;  // kCelu only
};

// One way to compute the four, for rows [begin, end); registered in a file of its own as
//   REGISTER_NORM("simd", {moments, apply, sums, gradient}, {...the same of bfloat16}).rank(1);
// Of those that are no definition the one of least rank is taken. Sums may be added up in float,
// row after row: of the 256 rows that are asked for at most (fused_norm.cpp), sums of constants
// were 2.5e-6 off; of up to 64 rows 6e-7.
template <typename Number>
struct NormPasses {
  void (*moments)(const NormMoments<Number>&, int64_t begin, int64_t end, float* sum,
                  float* square);
  void (*apply)(const NormApply<Number>&, int64_t begin, int64_t end);
  void (*sums)(const NormSums<Number>&, int64_t begin, int64_t end, float* sum, float* product);
  void (*gradient)(const NormGradient<Number>&, int64_t begin, int64_t end);
};

struct NormVariant {
  static constexpr const char* kWhat = "norm kernel";
  std::string name;
  NormPasses<float> of_float{};
  NormPasses<BFloat16> of_bfloat16{};
  int order = 0;
  bool is_definition = false;

  NormVariant& rank(int least_first) { return order = least_first, *this; }
  template <typename Number>
  const NormPasses<Number>& passes() const {
    if constexpr (std::is_same_v<Number, float>) {
      return of_float;
    } else {
      return of_bfloat16;
    }
  }

  // In plain loops and double precision, which the others must agree with: taken only by its name.
  NormVariant& definition() { return is_definition = true, *this; }
};

inline NormVariant& register_norm(std::string name, NormPasses<float> of_float,
                                  NormPasses<BFloat16> of_bfloat16) {
  auto& variant = Registry<NormVariant>::instance().add(std::move(name));
  variant.of_float = of_float;
  variant.of_bfloat16 = of_bfloat16;
  return variant;
}

}  // namespace approx

#define REGISTER_NORM(NAME, ...)                                                \
  [[maybe_unused]] static ::approx::NormVariant& APPROX_UNIQUE(norm_variant_) = \
      ::approx::register_norm(NAME, __VA_ARGS__)
