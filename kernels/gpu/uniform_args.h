// What uniform draws on a GPU need, for whoever asks for them.
#pragma once

#include <cstdint>

#include "kernels/rng.h"

namespace approx {

// Words 0 .. count - 1 of the stream as Rng::uniform has them: the CPU's bits.
struct UniformArgs {
  int64_t count = 0;
  float* out = nullptr;  // [count]
  Rng rng;
};

}  // namespace approx
