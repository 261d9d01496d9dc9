// Tensors as kernels of a GPU read them that move sixteen bytes at a time.
#pragma once

#include <ATen/core/Tensor.h>

namespace approx {

// With the channels last in memory, from an address that sixteen divides.
inline at::Tensor in_sixteens(const at::Tensor& tensor) {
  auto last = tensor.contiguous(at::MemoryFormat::ChannelsLast);
  const auto at = reinterpret_cast<uintptr_t>(last.const_data_ptr());
  return at % 16 == 0 ? last : last.clone();
}

}  // namespace approx
