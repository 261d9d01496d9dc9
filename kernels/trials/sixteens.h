// Tensors for GPU kernels that move sixteen bytes at a time.
#pragma once

#include <ATen/core/Tensor.h>

namespace approx {

// The tensor with the channels last in memory, at an address divisible by sixteen.
inline at::Tensor in_sixteens(const at::Tensor& tensor) {
  auto last = tensor.contiguous(at::MemoryFormat::ChannelsLast);
  const auto at = reinterpret_cast<uintptr_t>(last.const_data_ptr());
  return at % 16 == 0 ? last : last.clone();
}

}  // namespace approx
