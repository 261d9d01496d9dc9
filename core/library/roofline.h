// The measured peak rates of a device: the limits that kernels are compared with.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "core/engine/engine.h"
#include "kernels/probe/copy_rounds.h"

namespace approx {

// Measures the peak rates of a device in a second, on as many threads as LibTorch has.
//   flops     CPU: multiply-adds in registers; 0 in 16 bits, where no such probe exists.
//             GPU: a large matrix product in `precision`, which the caller sets before
//             (set_float_products).
//   bytes     A copy that fits in no cache. Bytes read and bytes written both count.
//   l2_bytes  GPU with our kernels: a copy whose numbers take half of the L2.
Roofline roofline_of(c10::Device device, Precision precision);

// The copy that the probe times: of floats, [n] each, on all threads of LibTorch.
void copy_numbers(const at::Tensor& from, const at::Tensor& to);

// The arguments, without addresses, of a copy within an L2 of `l2_size` bytes, on a GPU with that
// many multiprocessors. Both tensors together take half of the L2, so that they always stay in it.
// A launch copies for so long that the time to start it does not count.
CopyRoundsArgs copy_within(int64_t l2_size, int64_t multiprocessors);

}  // namespace approx
