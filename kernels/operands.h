// The arguments of one product, as one struct.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "products/problem.h"

namespace approx {

// Letters are those of cuDNN. Which tensors are defined depends on the product:
//   forward          x, w
//   data gradient    w, dy; and `input_sizes`, since x may have been freed
//   weight gradient  x (unless the method declares that it needs none), dy; w for its sizes
// Under a Sampled plan over the input channels, x may hold only the sampled channels.
struct Operands {
  at::Tensor x;   // [N,Ci,H,W]
  at::Tensor w;   // [Co,Ci/groups,Kh,Kw]
  at::Tensor dy;  // [N,Co,Ho,Wo]
  Geometry geometry;
  Product product = Product::kWeightGradient;
  std::vector<int64_t> input_sizes;  // N, Ci, H, W
};

// The sizes of operands as plain numbers. w must be defined.
Problem problem_of(const Operands& operands);
Problem problem_of(Product product, at::IntArrayRef input_sizes, const at::Tensor& w,
                   const Geometry& geometry);

// Estimates the density of a gradient, in [0, 1], from 1,024 of its entries at positions that
// depend only on its size. Reading all entries of a small layer would take as long as the choice
// can save. 1 where reading would wait for a device, and for types other than float and bfloat16.
double density_by_sample(const at::Tensor& dy);

// The sizes of the result: [N,Co,Ho,Wo], [N,Ci,H,W] or [Co,Ci/groups,Kh,Kw].
std::vector<int64_t> result_sizes(const Problem& problem);

}  // namespace approx
