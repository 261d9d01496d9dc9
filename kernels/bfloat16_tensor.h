// The numbers of a tensor in bfloat16 for loops that know no LibTorch.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/bfloat16.h"

namespace approx {

static_assert(sizeof(BFloat16) == sizeof(at::BFloat16));

inline const BFloat16* bfloat16_data(const at::Tensor& tensor) {
  return reinterpret_cast<const BFloat16*>(tensor.const_data_ptr<at::BFloat16>());
}
inline BFloat16* mutable_bfloat16_data(const at::Tensor& tensor) {
  return reinterpret_cast<BFloat16*>(tensor.mutable_data_ptr<at::BFloat16>());
}

}  // namespace approx
