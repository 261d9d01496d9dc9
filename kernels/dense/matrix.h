// The exact products of 1x1 convolutions as plain matrix products: of linear layers, which come as
// convolutions of maps of one pixel, and of small maps. Channels last in memory, the pixels of all
// images are the rows of a matrix as they lie.
//
// oneDNN's convolutions take two to six times as long for linear layers, and on 2x2, 7x7 and 8x8
// maps 1.1 to 1.3 times for the three products of a layer together (docs/performance.md).
#pragma once

#include "kernels/operands.h"

namespace approx {

// Whether the product is one matrix product: a 1x1 kernel in one group without padding, and without
// a stride unless there is but one pixel. On any device, in any precision.
bool matrix_fits(const Operands& operands);

// Whether that is faster than LibTorch's convolution: a rule on the shapes alone, so that equal
// runs take equal paths. Linear layers anywhere, other maps in single precision on the CPU.
bool matrix_pays(const Operands& operands);
bool matrix_pays(at::IntArrayRef input, at::IntArrayRef weight, const Geometry& geometry);

// With [pixels, channels] matrices: Y = X W^T, dX = dY W, dW = dY^T X. For operands that fit; the
// result has four dimensions, channels last.
at::Tensor matrix_product(const Operands& operands);

}  // namespace approx
