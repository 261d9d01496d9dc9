// The arguments of uniform draws on a GPU.
#pragma once

#include <cstdint>

#include "kernels/rng.h"

namespace approx {

// Draws words 0 .. count - 1 of the stream as Rng::uniform does, with bits equal to the CPU's.
struct UniformArgs {
  int64_t count = 0;
  float* out = nullptr;  // [count]
  Rng rng;
};

}  // namespace approx
