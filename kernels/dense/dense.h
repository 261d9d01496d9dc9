// The exact products: LibTorch's own convolutions, or ours where those are slow.
#pragma once

#include <utility>

#include "kernels/operands.h"

namespace approx {

// The faster of the ways to compute it.
at::Tensor dense_product(const Operands& operands);

// LibTorch's, whatever the shape. See dense_gradients (kernels/kernel.h) for the second.
at::Tensor libtorch_product(const Operands& operands);
std::pair<at::Tensor, at::Tensor> libtorch_gradients(const Operands& operands, bool data,
                                                     bool weight);

}  // namespace approx
