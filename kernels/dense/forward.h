// The exact forward product of a layer with its bias.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/operands.h"
#include "kernels/variant_counts.h"

namespace approx {

// Computes x (*) w + bias, [N,Co,Ho,Wo]; `bias` [Co] may be undefined. `o` holds x and w, and its
// product is the forward one. `counts`, unless null, records the variant that computed the product.
// In 16 bits, LibTorch's convolution adds the bias before it rounds.
at::Tensor dense_forward(const Operands& o, const at::Tensor& bias, LayerVariants* counts);

}  // namespace approx
