// Batch normalisation with its tail on tensors. `variant` names one of kernels/norm/ ("simd",
// "reference"); empty takes the fastest.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string_view>

#include "kernels/norm/gradient_visitor.h"
#include "kernels/norm/norm.h"

namespace approx {

// Whether the functions below take x: [N,C,H,W], channels last in memory, float or bfloat16 on the
// CPU, also float16 on a GPU whose kernels are open, of up to kMostNormChannels channels, where
// `variant` is not looked at. dy, y and `residual` are of x's type, what belongs to channels is
// float.
bool fused_norm_fits(const at::Tensor& x);

// Mean, variance (biased) and 1 / sqrt(variance + epsilon) per channel, [C] each. In double
// precision across blocks of memory whose sums are taken in single; the same on any number of
// threads.
struct NormStatistics {
  at::Tensor mean, variance, inverse_deviation;
};
NormStatistics norm_statistics(const at::Tensor& x, double epsilon, std::string_view variant = {});

// Running statistics of a norm, [C] float each, and how much a batch moves them.
struct RunningStatistics {
  at::Tensor mean, variance;
  double momentum = 0.1;  // the share of the new batch
};

// Moves them towards a mean and a variance: running = (1 - momentum) * running + momentum * new,
// where the variance is multiplied by `unbiasing` first.
void move_running(const RunningStatistics& running, const at::Tensor& mean,
                  const at::Tensor& variance, double unbiasing);

// norm_statistics(), which move `running` too: on a GPU in the launch that computes them, from the
// same values in double and rounded once.
NormStatistics norm_statistics_moving(const at::Tensor& x, double epsilon,
                                      const RunningStatistics& running, double unbiasing);

// A tail, and alpha of kCelu.
struct ShapedTail {
  ShapedTail(NormTail of_kind, double of_alpha = 1)  // NOLINT(google-explicit-constructor)
      : kind(of_kind), alpha(static_cast<float>(of_alpha)) {}

  NormTail kind;
  float alpha;
};

// tail(weight * (x - mean) * inverse_deviation + bias). `residual` only of a tail that adds it,
// shaped as x.
at::Tensor norm_forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& mean, const at::Tensor& inverse_deviation,
                        const ShapedTail& tail, const at::Tensor& residual,
                        std::string_view variant = {});

// norm_forward() into y, which is shaped and laid out as x: for images of a larger tensor.
void norm_forward_into(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
                       const at::Tensor& bias, const at::Tensor& mean,
                       const at::Tensor& inverse_deviation, const ShapedTail& tail,
                       const at::Tensor& residual, std::string_view variant = {});

// The gradients of `norm_forward` where mean and deviation are those of the batch (Ioffe & Szegedy
// 2015, section 3). `kept` is read after a tail that adds a residual, for which `dresidual` is
// defined: after kAddRelu it is the forward result y, after kAddGelu the residual. A `visitor` sees
// dx.
struct NormGradients {
  at::Tensor dx, dweight, dbias, dresidual;
};

// Where mean and deviation are those of several equal parts of a batch, of which x is one: puts the
// means over all parts in place of this one's sums over its pixels, [2,C] double, of the gradient
// behind the tail and of that times x - mean. dx follows from those, and dweight and dbias from
// this part's own. The sums lie where x does, and nobody waits for a device.
using MeanOfParts = std::function<void(const at::Tensor& sums)>;

NormGradients norm_backward(const at::Tensor& dy, const at::Tensor& kept, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& mean, const at::Tensor& inverse_deviation,
                            const ShapedTail& tail, GradientVisitor* visitor = nullptr,
                            std::string_view variant = {}, const MeanOfParts& mean_of_parts = {});

// norm_backward() into the dx of `into`, and into its dresidual where the tail has one. Both are
// shaped and laid out as x. Sets dweight and dbias.
void norm_backward_into(NormGradients& into, const at::Tensor& dy, const at::Tensor& kept,
                        const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& mean, const at::Tensor& inverse_deviation,
                        const ShapedTail& tail, GradientVisitor* visitor = nullptr,
                        std::string_view variant = {}, const MeanOfParts& mean_of_parts = {});

}  // namespace approx
