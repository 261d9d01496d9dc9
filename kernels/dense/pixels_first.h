// Maps with the pixels outermost in memory, for products of one tap at a time.
#pragma once

#include <ATen/core/Tensor.h>

namespace approx {

// Converts [N,C,H,W] to [H,W,N,C], contiguous: neighbouring pixels of a row form one matrix.
inline at::Tensor pixels_first(const at::Tensor& map) {
  return map.permute({2, 3, 0, 1}).contiguous();
}

}  // namespace approx
