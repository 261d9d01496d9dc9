// The fastest exact step over the precisions: what somebody trains with who approximates nothing. A
// method in single precision may be faster than exact training in single precision and slower than
// exact training in bfloat16.
#pragma once

#include <string>
#include <vector>

#include "results/rows/options.h"
#include "results/rows/rows.h"

namespace approx {

struct BestExact {
  Precision precision = Precision::kFp32;  // of the best; the row's own where no other is better
  // The exact step in the row's precision over the best one: above 1 where another precision is
  // better, 1 without an interval of its own where none is.
  Ratio over_own{.n = 1, .ratio = 1, .lo = 1.0, .hi = 1.0};
  // Faster ones that may not stand for exact training here, each with the reason: "bf16 (1.53×, but
  // its accuracy was not measured beside fp32)".
  std::vector<std::string> left_out;
};

// Looks for exact steps of the row's network, data and settings in every precision of the store,
// timed on the machine of the row's own timings. A step of another precision counts where its exact
// training loses no more than `margin` against the exact training in the row's precision, by the
// test of non_inferiority over at least kSeedsForAVerdict pairs of seeds. A row without a speedup
// has no best but its own.
BestExact best_exact(const RowSet& set, const Row& row, const Margin& margin);

// The speedup of a row over that step: of two timings in processes of their own.
Ratio speedup_over(const BestExact& best, const Row& row);

// "compared within fp32: exact training in another precision was not timed here", where the rows
// that have a speedup are all of one precision; "" where they are of several, or there are none.
std::string compared_within(const std::vector<const Row*>& rows);

}  // namespace approx
