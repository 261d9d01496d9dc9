#include "core/nn/branch.h"

#include <ATen/ATen.h>

namespace approx {

at::Tensor with_scaled_gradient(at::Tensor y, double factor) {
  if (factor != 1 && y.requires_grad()) {
    y.register_hook([factor](const at::Tensor& gradient) { return gradient * factor; });
  }
  return y;
}

at::Tensor BranchImpl::scaled(at::Tensor y) const {
  return with_scaled_gradient(std::move(y), in_effect().scale);
}

}  // namespace approx
