// A convolution, as a function with a gradient. A method may approximate each of its three
// products.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/nn/slot.h"

namespace approx {

// y = x (*) w + bias, each product as the slot says. The bias gradient is always exact. `layer` is
// the number that keys random draws. Under autocast the operands are cast as LibTorch casts those
// of its own convolutions.
at::Tensor approximated_conv(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                             const Geometry& geometry, const LayerSlot& slot, uint32_t layer);

// Returns an operand as LibTorch's convolutions cast theirs under autocast: the operand itself
// where autocast is off, or where it is undefined.
at::Tensor cast_operand(const at::Tensor& tensor);

// Returns a tensor whose memory holds its numbers. PyTorch can mark a view as negated; kernels read
// the memory alone. Differentiable; an undefined tensor stays undefined.
at::Tensor without_minus(const at::Tensor& tensor);

}  // namespace approx
