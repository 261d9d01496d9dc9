// Where the largest of some scores are, on plain memory.
#pragma once

#include <cstdint>

namespace approx {

// The k largest of `score`, by their indices, which ascend; of equals the first, and what is no
// number before all others. k is at most `count`.
struct LargestArgs {
  int64_t count = 0, k = 0;
  const double* score = nullptr;  // [count]
  int64_t* index = nullptr;       // [k]
};

// Scores that a kernel of a GPU chooses among: channels of a layer are no more.
inline constexpr int64_t kMostScores = 4096;

}  // namespace approx
