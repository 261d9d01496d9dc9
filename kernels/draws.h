// Random numbers of kernels/rng.h as tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/rng.h"

namespace approx {

// Uniform draws in (0, 1), float: element i in row-major order of `sizes` is word i of the stream,
// on every device. Drawn where they are wanted, so that nothing waits.
at::Tensor uniform_draws(const Rng& rng, at::IntArrayRef sizes, at::Device device);

// Any k of the whole numbers below n with equal chances, ascending, none twice: [k] int64.
at::Tensor subset_draws(const Rng& rng, int64_t n, int64_t k, at::Device device);

// The first `blocks` blocks of the stream, [blocks,4] int64 with values below 2^32, by operations
// on tensors of the device: for those that have no loop of their own.
at::Tensor random_words(const Rng& rng, int64_t blocks, at::Device device);

// Rng::uniform of every word, float.
at::Tensor as_uniform(const at::Tensor& words);

}  // namespace approx
