// Batch normalisation with its tail on tensors. `variant` names one of kernels/norm/ ("simd",
// "reference"); empty takes the fastest.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string_view>

#include "kernels/norm/gradient_visitor.h"
#include "kernels/norm/norm.h"

namespace approx {

// Whether the functions below accept x: [N,C,H,W], channels last in memory, float or bfloat16 on
// the CPU. On a GPU whose kernels are open, x may be float16 too, and has up to kMostNormChannels
// channels; `variant` is ignored there. The tensors dy, y and `residual` have x's type; arguments
// per channel are float.
bool fused_norm_fits(const at::Tensor& x);

// Mean, variance (biased) and 1 / sqrt(variance + epsilon) per channel, [C] each. Sums are taken in
// single precision within blocks of memory and in double across them. They are equal for any number
// of threads.
struct NormStatistics {
  at::Tensor mean, variance, inverse_deviation;
};
NormStatistics norm_statistics(const at::Tensor& x, double epsilon, std::string_view variant = {});

// Running statistics of a norm, [C] float each, and the weight of a new batch.
struct RunningStatistics {
  at::Tensor mean, variance;
  double momentum = 0.1;  // the share of the new batch
};

// Updates running statistics with a mean and a variance: running = (1 - momentum) * running +
// momentum * new, where the variance is multiplied by `unbiasing` first.
void move_running(const RunningStatistics& running, const at::Tensor& mean,
                  const at::Tensor& variance, double unbiasing);

// As norm_statistics(), but updates `running` too. On a GPU that is done in the launch that
// computes them, from the values in double, rounded once.
NormStatistics norm_statistics_moving(const at::Tensor& x, double epsilon,
                                      const RunningStatistics& running, double unbiasing);

// A tail, with alpha for kCelu.
struct ShapedTail {
  ShapedTail(NormTail of_kind, double of_alpha = 1)  // NOLINT(google-explicit-constructor)
      : kind(of_kind), alpha(static_cast<float>(of_alpha)) {}

  NormTail kind;
  float alpha;
};

// Computes tail(weight * (x - mean) * inverse_deviation + bias). `residual`, shaped as x, is given
// only for a tail that adds it.
at::Tensor norm_forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& mean, const at::Tensor& inverse_deviation,
                        const ShapedTail& tail, const at::Tensor& residual,
                        std::string_view variant = {});

// norm_forward() into y, which has the shape and layout of x: for images of a larger tensor.
void norm_forward_into(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
                       const at::Tensor& bias, const at::Tensor& mean,
                       const at::Tensor& inverse_deviation, const ShapedTail& tail,
                       const at::Tensor& residual, std::string_view variant = {});

// The gradients of `norm_forward` where mean and deviation are those of the batch (Ioffe & Szegedy
// 2015, section 3). A tail that adds a residual reads `kept` and defines `dresidual`. After
// kAddRelu, `kept` is the forward result y; after kAddGelu it is the residual. A `visitor` sees dx.
struct NormGradients {
  at::Tensor dx, dweight, dbias, dresidual;
};

// For a mean and deviation over several equal parts of a batch, of which x is one. Replaces this
// part's sums by their means over all parts, on [2,C] double. The sums are over pixels, of the
// gradient behind the tail and of that times x - mean. The means give dx; this part's own sums give
// dweight and dbias. The sums are on x's device, and nobody waits for it.
using MeanOfParts = std::function<void(const at::Tensor& sums)>;

NormGradients norm_backward(const at::Tensor& dy, const at::Tensor& kept, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& mean, const at::Tensor& inverse_deviation,
                            const ShapedTail& tail, GradientVisitor* visitor = nullptr,
                            std::string_view variant = {}, const MeanOfParts& mean_of_parts = {});

// norm_backward() into the dx of `into`, and into its dresidual where the tail has one. Both have
// the shape and layout of x. Sets dweight and dbias.
void norm_backward_into(NormGradients& into, const at::Tensor& dy, const at::Tensor& kept,
                        const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& mean, const at::Tensor& inverse_deviation,
                        const ShapedTail& tail, GradientVisitor* visitor = nullptr,
                        std::string_view variant = {}, const MeanOfParts& mean_of_parts = {});

}  // namespace approx
