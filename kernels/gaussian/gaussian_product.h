// The Gaussian plan on tensors.
#pragma once

#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

// Normal draws in the shape, precision and device of w. Element i in row-major order of w is draw
// i.
at::Tensor gaussian_product(const Gaussian& plan, const Operands& operands, bool simd);

}  // namespace approx
