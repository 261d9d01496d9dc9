// The fastest exact step over all precisions: the step that somebody trains with who approximates
// nothing. A method in single precision may be faster than exact training in single precision and
// slower than exact training in bfloat16.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/records/trials.h"
#include "results/rows/options.h"
#include "results/rows/rows.h"

namespace approx {

struct BestExact {
  // The precision of the best exact step; the row's own where no other is better.
  Precision precision = Precision::kFp32;
  // The exact step in the row's precision over the best one, above 1 where another precision is
  // better. Where none is better it is 1, without an interval of its own.
  Ratio over_own{.n = 1, .ratio = 1, .lo = 1.0, .hi = 1.0};
  // Occasions of the timings that `over_own` is of (timing_occasions), on the side that has fewer;
  // 0 where it is 1.
  int64_t occasions = 0;
  // Faster precisions that may not stand for exact training here, each with its reason: "bf16
  // (1.53×, but its accuracy was not measured beside fp32)".
  std::vector<std::string> left_out;
};

// Looks for exact steps of the row's network, data and settings in every precision of the store.
// They must be timed on the machine of the row's own timings. A step of another precision counts if
// its exact training is non-inferior to exact training in the row's precision within `margin`. That
// test (non_inferiority) needs at least kSeedsForAVerdict pairs of seeds, and both learning rates
// enclosed where they were tuned. For a row without a speedup, its own exact step is the best.
BestExact best_exact(const RowSet& set, const Row& row, const Margin& margin,
                     const ArmTrials& trials);

// The speedup of a row over the best exact step, from two timings in separate processes, and the
// occasions of timing that it is of.
Ratio speedup_over(const BestExact& best, const Row& row);
int64_t occasions_over(const BestExact& best, const Row& row);

// "compared within fp32: exact training in another precision was not timed here", where all rows
// with a speedup are of one precision. "" where they are of several precisions or no row has a
// speedup.
std::string compared_within(const std::vector<const Row*>& rows);

}  // namespace approx
