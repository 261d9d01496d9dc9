// The examples that still have a gradient at some place of a backward pass.
#pragma once

#include <ATen/core/Tensor.h>

namespace approx {

struct AliveRows {
  at::Tensor index;  // [k] int64, ascending, none twice; the gradient of all others is zero
  double ratio = 1;  // the share of the examples that the method which chose them keeps
};

}  // namespace approx
