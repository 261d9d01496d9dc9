// The Sampled plan on tensors.
#pragma once

#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

// The length of an axis: Ci, Co or N.
int64_t axis_size(Axis axis, const Operands& operands);

// x[:, index] with the channels last in memory, [N,k,H,W].
at::Tensor take_channels(const at::Tensor& x, const at::Tensor& index);

// The product of the sampled slices, put back among zeros where the result carries the axis. One
// group. Its cost is that of the exact product times k over the length of the axis, and the copies.
at::Tensor sampled_product(const Sampled& plan, const Operands& operands);

// The same by multiplying whole tensors with factors, zeros included: any group count, no saving.
// What the other variant must agree with.
at::Tensor masked_product(const Sampled& plan, const Operands& operands);

}  // namespace approx
