// Batch normalisation on plain pointers, forward and backward in two passes over memory each. It
// includes the ReLU, GELU or CELU after it, and an addition before the ReLU or GELU.
//
// A channels-last tensor is [rows, channels]: one row per pixel. With few channels, rows are short
// and waste vectors. The caller then reads `fold` pixels as one row of fold * channels numbers, and
// repeats arguments per channel `fold` times. It adds up sums over the folds.
//
// Maps may have less precision than intermediate values and arguments per channel. A Number is
// rounded only where it is stored.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "base/registry.h"
#include "kernels/bfloat16.h"

namespace approx {

// The tail after the normalisation z:
// - nothing, y = max(0, z), or y = max(0, z + residual);
// - GELU(z) = z Phi(z), where Phi is the normal distribution (Hendrycks & Gimpel 2016);
// - CELU(z) = max(0, z) + min(0, alpha (exp(z / alpha) - 1)) (Barron 2017);
// - GELU(z + residual).
// GELU and CELU are in kernels/norm/smooth_tails.h.
enum class NormTail { kNone, kRelu, kAddRelu, kGelu, kCelu, kAddGelu };

// Whether the gradient behind the tail is dy times a slope.
constexpr bool is_smooth(NormTail tail) {
  return tail == NormTail::kGelu || tail == NormTail::kCelu || tail == NormTail::kAddGelu;
}

// Whether the tail adds a residual to z before anything else.
constexpr bool adds_residual(NormTail tail) {
  return tail == NormTail::kAddRelu || tail == NormTail::kAddGelu;
}

// The tail for the member `smooth` of NormGradient.
constexpr NormTail smooth_without_residual(NormTail tail) {
  return is_smooth(tail) && !adds_residual(tail) ? tail : NormTail::kNone;
}

// Computes sum[c] = sum over rows of x - shift[c], and square[c] = sum over rows of its square. A
// shift near the mean prevents cancellation in the variance. Overwrites sum and square.
template <typename Number>
struct NormMoments {
  int64_t channels = 0;
  const Number* x = nullptr;     // [rows,channels]
  const float* shift = nullptr;  // [channels]
};

// Computes y = tail(scale[c] * x + offset[c]).
template <typename Number>
struct NormApply {
  int64_t channels = 0;
  NormTail tail = NormTail::kNone;
  const Number* x = nullptr;                        // [rows,channels]
  const float *scale = nullptr, *offset = nullptr;  // [channels]
  const Number* residual = nullptr;                 // [rows,channels], for a tail that adds it
  Number* y = nullptr;                              // [rows,channels]
  float alpha = 1;                                  // kCelu only, above 0
};

// Computes the sums of the gradient g behind the tail:
//   sum[c] = sum over rows of g, product[c] = sum over rows of g * (x - mean[c]).
// It overwrites them. g is not rounded; a tail that adds a residual writes g to dresidual. For a
// ReLU, g is dy where the result y was not cut off, zero elsewhere. For a smooth tail, g is dy
// times the slope at z, after kAddGelu at z + residual. Except after kAddRelu, z = scale x + offset
// is recomputed from x by equal operations, which costs less than reading it. After kAddRelu, y is
// read. After kAddGelu, the residual is read: it is in memory anyway, while z + residual would have
// to be written first.
template <typename Number>
struct NormSums {
  int64_t channels = 0;
  NormTail tail = NormTail::kNone;
  const Number *dy = nullptr, *x = nullptr;         // [rows,channels]
  const Number* y = nullptr;                        // [rows,channels], kAddRelu only
  const Number* residual = nullptr;                 // [rows,channels], kAddGelu only
  const float *scale = nullptr, *offset = nullptr;  // [channels] of the forward pass, for z
  const float* mean = nullptr;                      // [channels]
  Number* dresidual = nullptr;                      // [rows,channels], for a tail that adds
  float alpha = 1;                                  // kCelu only
};

// Computes dx = a[c] * g + b[c] * x + d[c]. After a tail that adds a residual, the caller passes
// dresidual as dy, without relu and without a smooth tail. After kGelu and kCelu, `smooth` is that
// tail, otherwise kNone.
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

// One variant of the four passes, for rows [begin, end); registered in a file of its own as
//   REGISTER_NORM("simd", {moments, apply, sums, gradient}, {...the same of bfloat16}).rank(1);
// The variant of least rank that is no definition is used. Sums may be added up in float, row after
// row. At most 256 rows are requested (fused_norm.cpp); then sums of constants were off by 2.5e-6,
// and by 6e-7 for up to 64 rows.
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

  // The definition in plain loops and double precision, with which the others must agree. It is
  // used only when asked for by name.
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
