// The three products of a layer, each as its slot says, without an autograd graph around them.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>

#include "core/nn/slot.h"
#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

struct ForwardProduct {
  at::Tensor y;     // [N,Co,Ho,Wo]
  at::Tensor kept;  // what the weight gradient needs of x: x, or the sampled channels alone
  std::optional<Plan> plan;  // of the forward product; nothing where no method planned it
};

// Computes y = x (*) w + bias. `bias` [Co] may be undefined; `layer` keys the draws. Records no
// gradient.
ForwardProduct forward_product(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                               const Geometry& geometry, const LayerSlot& slot, uint32_t layer);

// Returns the plan of the forward product again, from the same operands and draws. Call it only if
// the slot has a method for that product.
Plan forward_plan(const at::Tensor& x, const at::Tensor& w, const Geometry& geometry,
                  const LayerSlot& slot, uint32_t layer);

// Whether the weight gradient under this slot reads x at all.
bool needs_input(const LayerSlot& slot);

struct GradientsAsked {
  bool data = false, weight = false, bias = false;
};

// Returns the method that plans every gradient asked for; null where that is not exactly one. A
// bias gradient reads all of dY, so no method plans it.
Method* sole_planner(const LayerSlot& slot, GradientsAsked asked);

// Returns what a method may know of a gradient. `forward` is the plan of the forward product, null
// where that was exact.
MethodCall gradient_call(const LayerSlot& slot, uint32_t layer, Product product,
                         const Plan* forward);

struct GradientCall {
  // w, dy, the geometry and the input sizes; x unless `needs_input` is false.
  Operands operands;
  uint32_t layer = 0;
  const Plan* forward = nullptr;       // see gradient_call
  const SeenGradient* seen = nullptr;  // see MethodCall
  bool may_overwrite = false;          // likewise
  GradientsAsked asked;
};

// Computes the gradients asked for: data, weight, bias. The others are undefined, and so is the
// weight gradient of a frozen weight.
std::array<at::Tensor, 3> gradient_products(const LayerSlot& slot, GradientCall call);

}  // namespace approx
