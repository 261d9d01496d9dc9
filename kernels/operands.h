// The arguments of one product, as one struct.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "products/problem.h"

namespace approx {

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
};

// The numbers of it. w must be defined.
Problem problem_of(const Operands& operands);
Problem problem_of(Product product, at::IntArrayRef input_sizes, const at::Tensor& w,
                   const Geometry& geometry);

// About which share of a gradient is not zero, in [0, 1], by 1,024 of its entries at places that
// its size decides: a small layer's, were all looked at, would take as long as choosing by it can
// gain. 1 where to look would be to wait for a device, and of what is neither float nor bfloat16.
double density_by_sample(const at::Tensor& dy);

// [N,Co,Ho,Wo], [N,Ci,H,W] or [Co,Ci/groups,Kh,Kw]
std::vector<int64_t> result_sizes(const Problem& problem);

}  // namespace approx
