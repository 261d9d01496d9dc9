// Processes that train one network together.
#pragma once

#include <cstdint>

namespace approx {

// One of `size` processes. Each holds the whole network and data set, trains on its share of every
// batch and evaluates its share of a part; gradients and running statistics are averaged
// (core/train/bucketed_reduction.h), so that all have the same parameters and buffers after each
// step. What methods draw is drawn anew by every rank (kernels/rng.h); LibTorch's own generator,
// which dropout draws from, is seeded alike.
struct World {
  int64_t rank = 0;  // from 0
  int64_t size = 1;
};

}  // namespace approx
