// The arguments of one product, as one struct.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kernels/product.h"

namespace approx {

// Square strides, paddings and dilations: no network here has others.
struct Geometry {
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
};

// Letters as in cuDNN. Which tensors are defined depends on the product:
//   forward          x, w
//   data gradient    w, dy; and `input_sizes`, since x may have been let go
//   weight gradient  x (unless the method declares that it needs none), dy; w for its sizes
struct Operands {
  at::Tensor x;   // [N,Ci,H,W]
  at::Tensor w;   // [Co,Ci/groups,Kh,Kw]
  at::Tensor dy;  // [N,Co,Ho,Wo]
  Geometry geometry;
  Product product = Product::kWeightGradient;
  std::vector<int64_t> input_sizes;  // N, Ci, H, W
};

}  // namespace approx
