// What the verdicts on ratios are worth, told by ratios of a thing to itself.
#pragma once

#include <cstdint>
#include <span>

#include "results/stats/stats.h"

namespace approx {

struct FalseVerdicts {
  int64_t n = 0;            // ratios
  int64_t false_ones = 0;   // said to be faster or slower, of what is neither
  int64_t without_one = 0;  // whose interval leaves 1 out, however near it is

  // No more false ones than the confidence of an interval allows.
  bool passed() const;
};

// `ratios`: of a thing to itself, each measured anew, so that every "faster" and "slower" is false.
FalseVerdicts false_verdicts(std::span<const Ratio> ratios);

}  // namespace approx
