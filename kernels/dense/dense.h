// The exact products, through LibTorch's own convolutions.
#pragma once

#include "kernels/operands.h"

namespace approx {

at::Tensor dense_product(const Operands& operands);

}  // namespace approx
