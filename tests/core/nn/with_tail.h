// A batch norm with any of the tails that a network may ask for.
#pragma once

#include "core/nn/norm.h"

namespace approx {

// `residual`: read by the tails that add one.
inline at::Tensor with_tail(BatchNormImpl& norm, const at::Tensor& x, NormTail tail,
                            const at::Tensor& residual) {
  switch (tail) {
    case NormTail::kNone:
      return norm.forward(x);
    case NormTail::kRelu:
      return norm.relu(x);
    case NormTail::kAddRelu:
      return norm.add_relu(x, residual);
    case NormTail::kGelu:
      return norm.gelu(x);
    case NormTail::kCelu:
      return norm.celu(x);
    case NormTail::kAddGelu:
      return norm.add_gelu(x, residual);
  }
  return {};
}

}  // namespace approx
