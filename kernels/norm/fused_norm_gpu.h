// The functions of kernels/norm/fused_norm.h for tensors on a GPU whose kernels are open.
#pragma once

#include "kernels/norm/fused_norm.h"

namespace approx {

// Whether they take x: floats with the channels last there.
bool has_norm_on_gpu(const at::Tensor& x);

NormStatistics norm_statistics_on_gpu(const at::Tensor& x, double epsilon);

at::Tensor norm_forward_on_gpu(const at::Tensor& x, const at::Tensor& weight,
                               const at::Tensor& bias, const at::Tensor& mean,
                               const at::Tensor& inverse_deviation, NormTail tail,
                               const at::Tensor& residual);

// A `visitor` is asked what to do to dx (GradientVisitor::look).
NormGradients norm_backward_on_gpu(const at::Tensor& dy, const at::Tensor& y, const at::Tensor& x,
                                   const at::Tensor& weight, const at::Tensor& bias,
                                   const at::Tensor& mean, const at::Tensor& inverse_deviation,
                                   NormTail tail, GradientVisitor* visitor);

}  // namespace approx
