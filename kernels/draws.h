// Random numbers of kernels/rng.h as tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/rng.h"

namespace approx {

// Uniform draws in (0, 1), float: element i in row-major order of `sizes` is word i of the stream.
// Drawn on the CPU and moved, so that every device gets the same numbers.
at::Tensor uniform_draws(const Rng& rng, at::IntArrayRef sizes, at::Device device);

}  // namespace approx
