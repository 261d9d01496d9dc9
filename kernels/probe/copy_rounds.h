// A copy that one launch repeats. For numbers that fit into a GPU cache it is as fast as that
// cache, and its start takes no share of the time.
#pragma once

#include <cstdint>

namespace approx {

struct CopyRoundsArgs {
  int64_t count = 0;            // a multiple of 4
  int64_t rounds = 1;           // number of copies of all of it
  int64_t blocks = 1;           // of 256 threads: no more than the GPU runs at a time
  const float* from = nullptr;  // [count], aligned to 16 bytes, as is `to`
  float* to = nullptr;          // [count]
};

}  // namespace approx
