// Processes that train one network together.
#pragma once

#include <cstdint>

namespace approx {

// One of `size` processes. Each holds the whole network and data set, trains on its share of every
// batch and evaluates its share of a part. Gradients and running statistics are averaged
// (core/train/bucketed_reduction.h), so that parameters and buffers are equal on all after each
// step. Every rank makes its own random draws for methods (kernels/rng.h). LibTorch's own
// generator, which dropout uses, has one seed on all.
struct World {
  int64_t rank = 0;  // from 0
  int64_t size = 1;
};

}  // namespace approx
