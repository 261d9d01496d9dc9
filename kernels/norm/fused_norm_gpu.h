// The functions of kernels/norm/fused_norm.h that write into tensors, for tensors on a GPU whose
// kernels are open.
#pragma once

#include "kernels/norm/fused_norm.h"

namespace approx {

// Whether they accept x: floating point, channels last, up to kMostNormChannels channels.
bool has_norm_on_gpu(const at::Tensor& x);

// One launch. Updates `running` too unless it is null: norm_statistics_moving().
NormStatistics norm_statistics_on_gpu(const at::Tensor& x, double epsilon,
                                      const RunningStatistics* running, double unbiasing);

// One launch.
void norm_forward_on_gpu(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
                         const at::Tensor& bias, const at::Tensor& mean,
                         const at::Tensor& inverse_deviation, const ShapedTail& tail,
                         const at::Tensor& residual);

// Two launches, and one more where a `visitor` tells what to do with dx (GradientVisitor::look).
// With a `mean_of_parts`, LibTorch operations on [C] numbers compute the factors from its means, in
// between.
void norm_backward_on_gpu(NormGradients& into, const at::Tensor& dy, const at::Tensor& kept,
                          const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          const at::Tensor& mean, const at::Tensor& inverse_deviation,
                          const ShapedTail& tail, GradientVisitor* visitor,
                          const MeanOfParts& mean_of_parts);

// Computes dx = a g + b x + d by channel. `sums` [2,C] double are over `count` pixels, of the
// gradient g behind the tail and of g (x - mean). They may also be the means over equal parts with
// `count` pixels each. [C] float each.
struct NormGradientFactors {
  at::Tensor a, b, d;
};
NormGradientFactors norm_gradient_factors(const at::Tensor& sums, int64_t count,
                                          const at::Tensor& weight, const at::Tensor& mean,
                                          const at::Tensor& inverse_deviation);

}  // namespace approx
