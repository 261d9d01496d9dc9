// Batch norms on a GPU, on plain pointers to its memory. Tensors are [rows,channels], channels
// last: a row is a pixel. The passes are those of kernels/norm/norm.h, which defines their results.
// Here, a pass over all rows is one launch, which also computes the values that follow from its
// sums. A norm has four launches in a step: statistics and forward, sums and gradient.
//
// Blocks of a launch count arrivals in memory of the library (kernels/gpu/joined_sums.h), one area
// for each GPU. So launches of one process on one GPU must not overlap: one stream at a time, as
// steps and their graphs do.
#pragma once

#include "kernels/gpu/joined_sums.h"
#include "kernels/gpu/kernel.h"
#include "kernels/norm/gradient_visitor.h"
#include "kernels/norm/norm.h"

namespace approx {

// The library has no memory to count arrivals for more channels.
constexpr int64_t kMostNormChannels = 32768;

// The arguments of the normalisation, [C] each. Every pass computes the scale and the offset of
// kernels/norm/norm.h from them, by equal operations. Scale and offset in the pass's own arguments
// are ignored.
struct NormAffineOnGpu {
  const float *weight = nullptr, *bias = nullptr;
  const float *mean = nullptr, *inverse_deviation = nullptr;
};

// Running statistics, [C] each, and their update: running = (1 - momentum) * running + momentum *
// that of the batch, whose variance is multiplied by `unbiasing` first.
struct MovedOnGpu {
  float *mean = nullptr, *variance = nullptr;  // null: no update
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
  // Memory for the sums of row_blocks(rows) blocks. The launching code sets the arrivals and the
  // maximum number of blocks; the bits of the result depend on it.
  JoinedRoom room;
  int64_t most_blocks = kMostRowBlocks;
};

template <typename Number>
struct NormApplyOnGpu {
  int64_t rows = 0;
  NormApply<Number> pass;
  NormAffineOnGpu affine;
};

// Sums of the gradient, and the factors of NormGradient and parameter gradients that follow from
// them.
template <typename Number>
struct NormSumsOnGpu {
  int64_t rows = 0;
  NormSums<Number> pass;  // (The mean is that of `affine`.)
  NormAffineOnGpu affine;
  float *dweight = nullptr, *dbias = nullptr;      // [channels]
  float *a = nullptr, *b = nullptr, *d = nullptr;  // [channels], for NormGradient
  double *sums = nullptr;  // [2,channels], sum and product; null: not wanted
  JoinedRoom room;         // as in NormStatisticsOnGpu
  int64_t most_blocks = kMostRowBlocks;
};

template <typename Number>
struct NormGradientOnGpu {
  int64_t rows = 0;
  NormGradient<Number> pass;
  NormAffineOnGpu affine;  // with relu or a smooth tail
  // Work on dx while it is written, and memory for sums of magnitudes.
  GradientLook look;
  double *partial = nullptr;  // [most_norm_blocks]; null: no such work
};

// The maximum number of blocks that write such a matrix.
constexpr int64_t most_norm_blocks(int64_t rows, int64_t channels) {
  return row_blocks(rows) * blocks_of(channels, kWarp);
}

// The maximum number of arrival counts for a norm of `channels` channels.
constexpr int64_t most_norm_arrivals(int64_t channels) {
  return arrivals_of(kMostRowBlocks, blocks_of(channels, kWarp));
}

}  // namespace approx
