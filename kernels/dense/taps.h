// The exact products as matrix products, one for each tap of the kernel.
//
// Direct convolutions lose on maps of a few pixels: their registers are filled along the width, and
// much of what they multiply is padding (on a 2x2 map a 3x3 kernel meets 16 pixels and 20 zeros).
// With the pixels outermost in memory, [H,W,N,C], the pixels that a tap joins to an output row are
// neighbours, and every product is a sum of plain matrix products over what is really there.
#pragma once

#include "kernels/operands.h"

namespace approx {

// Whether the functions below compute it: CPU, single precision, one group, stride 1, and a padding
// that keeps the size of the map.
bool taps_fit(const Operands& operands);

// Whether they are faster than LibTorch's convolution for a product of these sizes: a rule on the
// shapes alone, so that equal runs take equal paths. Measured in docs/performance.md.
bool taps_pay(const Operands& operands, Product product);
bool taps_pay(at::IntArrayRef input, at::IntArrayRef weight, const Geometry& geometry,
              Product product);

at::Tensor taps_product(const Operands& operands);

}  // namespace approx
