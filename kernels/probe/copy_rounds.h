// A copy that one launch does over and over: of numbers that a cache of a GPU holds it is as fast
// as that cache, and starting it takes no share of its time.
#pragma once

#include <cstdint>

namespace approx {

struct CopyRoundsArgs {
  int64_t count = 0;            // a multiple of 4
  int64_t rounds = 1;           // how often all of it is copied
  int64_t blocks = 1;           // of 256 threads: no more than the GPU runs at a time
  const float* from = nullptr;  // [count], like `to` at a multiple of 16 bytes
  float* to = nullptr;          // [count]
};

}  // namespace approx
