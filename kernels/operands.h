// The arguments of one product, as one struct.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/plan.h"
#include "kernels/product.h"

namespace approx {

// Square strides, paddings and dilations: no network here has others.
struct Geometry {
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
};

// What one backward pass of a layer keeps between its two gradients: the plan of the first, for a
// method that gives both the same.
struct Scratch {
  const void* owner = nullptr;
  std::optional<Plan> plan;
};

// Letters as in cuDNN. Which tensors are defined depends on the product:
//   forward          x, w
//   data gradient    w, dy; and `input_sizes`, since x may have been let go
//   weight gradient  x (unless the method declares that it needs none), dy; w for its sizes
// Under a Sampled plan over the input channels, x may hold the sampled channels alone.
struct Operands {
  at::Tensor x;   // [N,Ci,H,W]
  at::Tensor w;   // [Co,Ci/groups,Kh,Kw]
  at::Tensor dy;  // [N,Co,Ho,Wo]
  Geometry geometry;
  Product product = Product::kWeightGradient;
  std::vector<int64_t> input_sizes;  // N, Ci, H, W

  // Of the layer: whether a batch normalisation follows it.
  bool norm_follows = false;
  // Gradients only: the plan of the forward product, null where that was exact.
  const Plan* forward = nullptr;
  // Gradients only, null outside a backward pass.
  Scratch* scratch = nullptr;
};

}  // namespace approx
