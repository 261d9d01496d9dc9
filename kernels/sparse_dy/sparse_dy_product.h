// The SparseDY plan on tensors.
#pragma once

#include <utility>

#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

// dy with the plan's entries and zeros elsewhere: what every variant must agree with.
at::Tensor densify(const SparseDY& plan, const Operands& operands);

// The weight gradient [Co,Ci,Kh,Kw] in the layout and precision of w. `simd` false: the reference.
// CPU, one group.
at::Tensor sparse_dy_weight_gradient(const SparseDY& plan, const Operands& operands, bool simd);

// For every plane of dy [N,Co,Ho,Wo] on the CPU: the position of its largest magnitude [N,Co,1]
// int32 (the first of equals) and its signed sum [N,Co,1] float.
std::pair<at::Tensor, at::Tensor> plane_peak(const at::Tensor& dy, bool simd = true);

}  // namespace approx
