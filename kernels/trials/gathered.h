// The data gradient of two of every four channels of dY as one matrix product, by cuSPARSELt.
#pragma once

#include "kernels/kernel.h"
#include "kernels/trials/cusparselt.h"

namespace approx {

// Whether it can compute a problem: one group, stride 1, channels and pixels multiples of sixteen.
bool takes_gathered(const Problem& problem);

// Gathers (see gathered_rows) and compresses `dy` [N,Co,Ho,Wo], in which two of every four channels
// are already zero. Returns a function that multiplies it by the weights. The library must outlive
// it.
PreparedProduct prepare_gathered(CusparseLt& library, const at::Tensor& dy, const Operands& o);

// The gathered rows, [N*H*W, Kh*Kw*Co], one for each pixel of x. Tap after tap, a row has the
// channels of the pixel of dY that the tap connects with it, or zeros. A 1x1 kernel gathers
// nothing: the rows are those of dY.
at::Tensor gathered_rows(const at::Tensor& dy, const Problem& problem);

}  // namespace approx
