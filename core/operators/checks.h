// Checks that all operators share. `op` is the operator that messages name; null where the caller
// names a layer instead.
#pragma once

#include <ATen/core/Tensor.h>

namespace approx {

// Checks an operand: its layout, device and element type. `what` names it in messages. Opens the
// kernels of its device. Throws ValueError or TypeError.
void check_operand(const at::Tensor& tensor, const char* op, const char* what, bool may_be_meta);

// Checks that an operand has the device of the input `x`, and its element type unless autocast is
// on. Throws ValueError or TypeError.
void check_same(const at::Tensor& x, const at::Tensor& tensor, const char* op, const char* what);

}  // namespace approx
