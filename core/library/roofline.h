// What a device can do at most, measured: the limits that kernels are held against.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "core/engine/engine.h"
#include "kernels/probe/copy_rounds.h"

namespace approx {

// On the CPU the rate of multiply-adds in registers, nothing for numbers of 16 bits, which no such
// multiply-adds are counted for; on a GPU that of a large matrix product in the precision, which
// must have been set (set_float_products). In memory the rate of a copy that no cache holds: what
// is read and what is written both count; and of a GPU, where its kernels are open, that of one
// whose numbers take half of its L2. On as many threads as LibTorch has. Takes a second.
Roofline roofline_of(c10::Device device, Precision precision);

// The copy that the probe times: of floats, [n] each, on as many threads as there are.
void copy_numbers(const at::Tensor& from, const at::Tensor& to);

// How a copy within an L2 of so many bytes is done on a GPU of so many multiprocessors: without the
// addresses. Both tensors together have half of its bytes, so that they stay there whatever else
// does, and a launch copies long enough that starting it does not count.
CopyRoundsArgs copy_within(int64_t l2_size, int64_t multiprocessors);

}  // namespace approx
