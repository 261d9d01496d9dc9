// Random numbers of kernels/rng.h as tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/rng.h"

namespace approx {

// Uniform draws in (0, 1), float: element i in row-major order of `sizes` is word i of the stream,
// on every device. They are drawn on `device`, so that nothing waits.
at::Tensor uniform_draws(const Rng& rng, at::IntArrayRef sizes, at::Device device);

// From this number of candidates on, a choice uses draws of 52 bits. The 23 bits of a float form a
// grid of 2^23 points, of which equal candidates get unequal numbers. With 2^14 candidates their
// chances differ by a thousandth, with 2^22 by half. Below this number, draws are as in stored
// runs: no layer of a network here has more than 9,216 channels.
inline constexpr int64_t kManyCandidates = int64_t{1} << 14;

// Uniform draws in (0, 1) for a choice among `candidates`, equal on every device. Below
// kManyCandidates they are those of uniform_draws. From there on they are double, of 52 bits:
// element i in row-major order is made of words 2i and 2i + 1.
at::Tensor draws_among(const Rng& rng, int64_t candidates, at::IntArrayRef sizes,
                       at::Device device);

// Draws k of the whole numbers below n with equal chances, ascending, none twice: [k] int64.
at::Tensor subset_draws(const Rng& rng, int64_t n, int64_t k, at::Device device);

// The first `blocks` blocks of the stream, [blocks,4] int64 with values below 2^32. They are
// computed by tensor operations, for devices without a loop of their own.
at::Tensor random_words(const Rng& rng, int64_t blocks, at::Device device);

// Rng::uniform of every word, as float.
at::Tensor as_uniform(const at::Tensor& words);

// Uniform numbers in (0, 1) of 52 bits, as double: one for every two words, the first of which
// gives the high bits.
at::Tensor as_fine_uniform(const at::Tensor& words);

}  // namespace approx
