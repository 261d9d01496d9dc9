// The data gradient of two of every four channels of dY as one product of matrices, by cuSPARSELt.
#pragma once

#include "kernels/kernel.h"
#include "kernels/trials/cusparselt.h"

namespace approx {

// Shapes that it takes: one group, stride 1, channels and pixels in sixteens.
bool takes_gathered(const Problem& problem);

// `dy` [N,Co,Ho,Wo], of which two of every four channels are zero already, is gathered (see
// gathered_rows) and compressed; what is returned multiplies it by the weights. The library must
// outlive it.
PreparedProduct prepare_gathered(CusparseLt& library, const at::Tensor& dy, const Operands& o);

// [N*H*W, Kh*Kw*Co]: for each pixel of x, tap after tap, the channels of the pixel of dY that meets
// it there, or zeros. A 1x1 kernel gathers nothing: the rows are those of dY.
at::Tensor gathered_rows(const at::Tensor& dy, const Problem& problem);

}  // namespace approx
