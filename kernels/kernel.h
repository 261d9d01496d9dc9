// Computing a plan. Each kind of plan has a folder here with its variants: `reference` (plain
// loops, the definition), `simd`, ..., of which the fastest usable one is taken.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

// The product of `operands` under `plan`, in the precision of dy (forward: of x):
//   forward [N,Co,Ho,Wo], data gradient [N,Ci,H,W], weight gradient [Co,Ci/groups,Kh,Kw].
// Undefined for a frozen Skip. `variant` forces one ("reference", "simd", "densify"); empty takes
// the fastest that can do it. Throws Error(kInternal) for a plan that the product does not have,
// and for an unknown or unusable variant.
at::Tensor run(const Plan& plan, const Operands& operands, std::string_view variant = {});

// Whether the exact products of a convolution are better computed by `run` and `dense_gradients`
// than by LibTorch's convolution with its own autograd node. Costs a few comparisons.
bool dense_pays(const at::Tensor& x, const at::Tensor& w, const Geometry& geometry);

// The exact data and weight gradients in one call, which shares the work of preparing the operands.
// Either may be left out (undefined).
std::pair<at::Tensor, at::Tensor> dense_gradients(const Operands& operands, bool data, bool weight);

// The variants that `run` would accept for this plan and product here and now, fastest first.
std::vector<std::string> variants(const Plan& plan, const Operands& operands);

// Multiply-accumulates that the plan really needs, and those of the exact product. Of a PrunedDY
// plan those of its nonzero entries, whose count is read from the device.
int64_t plan_macs(const Plan& plan, const Operands& operands);
int64_t dense_macs(const Operands& operands);

// The channels of x that a Sampled plan over the input channels needs, or x itself: what a layer
// keeps for the weight gradient instead of x.
at::Tensor sampled_input(const at::Tensor& x, const Plan& plan, const Geometry& geometry);

}  // namespace approx
