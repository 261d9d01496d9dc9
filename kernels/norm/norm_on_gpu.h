// Batch norms on a GPU, on plain pointers of its memory. Tensors are [rows,channels] with the
// channels last: a row is a pixel. The passes are those of kernels/norm/norm.h, whose arguments say
// what is computed; here a pass over all rows is one launch, and what follows from its sums is made
// within it. A norm is four launches in a step: statistics and forward, sums and gradient.
//
// Blocks of a launch count on memory of the library's own (kernels/gpu/joined_sums.h), one for each
// GPU. So launches of one process on one GPU follow one another: one stream at a time, as steps and
// their graphs do.
#pragma once

#include "kernels/gpu/joined_sums.h"
#include "kernels/gpu/kernel.h"
#include "kernels/norm/gradient_visitor.h"
#include "kernels/norm/norm.h"

namespace approx {

// Of more channels the library has no room to count.
constexpr int64_t kMostNormChannels = 32768;

// What a map is normalised by, [C] each. Every pass makes the scale and the offset of
// kernels/norm/norm.h of these, by the same operations; those of its arguments are not read.
struct NormAffineOnGpu {
  const float *weight = nullptr, *bias = nullptr;
  const float *mean = nullptr, *inverse_deviation = nullptr;
};

// Running statistics, [C] each, and what moves them: running = (1 - momentum) * running + momentum
// * that of the batch, whose variance is multiplied by `unbiasing` first.
struct MovedOnGpu {
  float *mean = nullptr, *variance = nullptr;  // null: nothing moves
  double momentum = 0, unbiasing = 1;
};

// Mean, biased variance and 1 / sqrt(variance + epsilon) of every channel. The first row is the
// shift of the sums.
template <typename Number>
struct NormStatisticsOnGpu {
  int64_t rows = 0, channels = 0;
  const Number *x = nullptr;  // [rows,channels]
  double epsilon = 0;
  float *mean = nullptr, *variance = nullptr, *inverse_deviation = nullptr;  // [channels]
  MovedOnGpu moved;
  // Room for the sums of row_blocks(rows) blocks. Whoever launches sets the arrivals, and how many
  // blocks there are at most: the bits follow from it.
  JoinedRoom room;
  int64_t most_blocks = kMostRowBlocks;
};

template <typename Number>
struct NormApplyOnGpu {
  int64_t rows = 0;
  NormApply<Number> pass;
  NormAffineOnGpu affine;
};

// Sums of the gradient, and what NormGradient and the parameters make of them.
template <typename Number>
struct NormSumsOnGpu {
  int64_t rows = 0;
  NormSums<Number> pass;  // (The mean is that of `affine`.)
  NormAffineOnGpu affine;
  float *dweight = nullptr, *dbias = nullptr;      // [channels]
  float *a = nullptr, *b = nullptr, *d = nullptr;  // [channels], of NormGradient
  double *sums = nullptr;  // [2,channels], sum and product; null: not wanted
  JoinedRoom room;         // as above
  int64_t most_blocks = kMostRowBlocks;
};

template <typename Number>
struct NormGradientOnGpu {
  int64_t rows = 0;
  NormGradient<Number> pass;
  NormAffineOnGpu affine;  // with relu or a smooth tail
  // Where somebody looks at dx: what for, and room for sums of magnitudes.
  GradientLook look;
  double *partial = nullptr;  // [most_norm_blocks]; null: nobody does
};

// The most blocks that write such a matrix.
constexpr int64_t most_norm_blocks(int64_t rows, int64_t channels) {
  return row_blocks(rows) * blocks_of(channels, kWarp);
}

// The most counts of arrivals that a norm of so many channels takes.
constexpr int64_t most_norm_arrivals(int64_t channels) {
  return arrivals_of(kMostRowBlocks, blocks_of(channels, kWarp));
}

}  // namespace approx
