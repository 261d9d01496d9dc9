// Uniform draws of kernels/rng.h in memory, a few vectors at a time.
#pragma once

#include <cstdint>

#include "kernels/rng.h"

namespace approx {

// out[i] = Rng::uniform of word first + i of the stream, for i from 0 to count - 1. `first` is a
// multiple of 4.
void fill_uniform(const Rng& rng, int64_t first, int64_t count, float* out);

}  // namespace approx
