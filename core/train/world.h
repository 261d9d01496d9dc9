// Processes that train one network together.
#pragma once

#include <cstdint>

namespace approx {

// One of `size` processes. Each holds the whole network and data set, trains on its share of every
// batch and evaluates all of a part; their gradients are averaged
// (core/train/gradient_reduction.h). What methods draw is drawn anew by every rank (kernels/rng.h);
// LibTorch's own generator, which dropout draws from, is seeded alike on all, and batch norms see
// the statistics of their share.
struct World {
  int64_t rank = 0;  // from 0
  int64_t size = 1;
};

}  // namespace approx
