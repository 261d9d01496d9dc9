// Random numbers of kernels/rng.h as tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/rng.h"

namespace approx {

// Uniform draws in (0, 1), float: element i in row-major order of `sizes` is word i of the stream,
// on every device. Drawn where they are wanted, so that nothing waits.
at::Tensor uniform_draws(const Rng& rng, at::IntArrayRef sizes, at::Device device);

// From so many candidates on a choice goes by draws of 52 bits. The 23 bits of a float are a grid
// of 2^23 points, of which equal candidates have unequal numbers: at 2^14 candidates their chances
// differ by a thousandth, at 2^22 by half. Below it draws are what they were in runs that are
// stored: no layer of a network here has more than 9,216 channels.
inline constexpr int64_t kManyCandidates = int64_t{1} << 14;

// Uniform draws in (0, 1) for a choice among so many candidates, the same on every device: below
// kManyCandidates those of uniform_draws; from there on double, of 52 bits, element i in row-major
// order of words 2i and 2i + 1.
at::Tensor draws_among(const Rng& rng, int64_t candidates, at::IntArrayRef sizes,
                       at::Device device);

// Any k of the whole numbers below n with equal chances, ascending, none twice: [k] int64.
at::Tensor subset_draws(const Rng& rng, int64_t n, int64_t k, at::Device device);

// The first `blocks` blocks of the stream, [blocks,4] int64 with values below 2^32, by operations
// on tensors of the device: for those that have no loop of their own.
at::Tensor random_words(const Rng& rng, int64_t blocks, at::Device device);

// Rng::uniform of every word, float.
at::Tensor as_uniform(const at::Tensor& words);

// Uniform numbers in (0, 1) of 52 bits, double: one of every two words, the first of which has the
// high bits.
at::Tensor as_fine_uniform(const at::Tensor& words);

}  // namespace approx
