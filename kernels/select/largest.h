// Finds the largest of some scores, on plain memory.
#pragma once

#include <cstdint>

namespace approx {

// Arguments: the k largest of `score`, as ascending indices. The first of equal scores is taken; a
// NaN comes before all others. k is at most `count`.
struct LargestArgs {
  int64_t count = 0, k = 0;
  const double* score = nullptr;  // [count]
  int64_t* index = nullptr;       // [k]
};

// The most scores that a GPU kernel chooses among; layers have no more channels.
inline constexpr int64_t kMostScores = 4096;

}  // namespace approx
