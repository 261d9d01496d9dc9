// The functions of kernels/norm/fused_norm.h, those that write into tensors, for tensors on a GPU
// whose kernels are open.
#pragma once

#include "kernels/norm/fused_norm.h"

namespace approx {

// Whether they take x: floats with the channels last there, of up to kMostNormChannels channels.
bool has_norm_on_gpu(const at::Tensor& x);

// One launch. `running` is moved too where it is not null: norm_statistics_moving().
NormStatistics norm_statistics_on_gpu(const at::Tensor& x, double epsilon,
                                      const RunningStatistics* running, double unbiasing);

// One launch.
void norm_forward_on_gpu(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
                         const at::Tensor& bias, const at::Tensor& mean,
                         const at::Tensor& inverse_deviation, const ShapedTail& tail,
                         const at::Tensor& residual);

// Two launches, and one more where a `visitor` is asked what to do to dx (GradientVisitor::look).
// Where there is a `mean_of_parts`, what follows from its means is computed by LibTorch's
// operations on [C] numbers in between.
void norm_backward_on_gpu(NormGradients& into, const at::Tensor& dy, const at::Tensor& kept,
                          const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          const at::Tensor& mean, const at::Tensor& inverse_deviation,
                          const ShapedTail& tail, GradientVisitor* visitor,
                          const MeanOfParts& mean_of_parts);

// dx = a g + b x + d by channel, where `sums` [2,C] double are those over `count` pixels, of the
// gradient g behind the tail and of g (x - mean), or their means over equal parts of so many. [C]
// float each.
struct NormGradientFactors {
  at::Tensor a, b, d;
};
NormGradientFactors norm_gradient_factors(const at::Tensor& sums, int64_t count,
                                          const at::Tensor& weight, const at::Tensor& mean,
                                          const at::Tensor& inverse_deviation);

}  // namespace approx
