// How fast a row has to be to pay, and whether it is: by exact trainings of several lengths
// (docs/internals/statistics.md, "Break-even").
#pragma once

#include <cstdint>
#include <string>

#include "results/rows/answer.h"
#include "results/rows/exact_curve.h"
#include "results/rows/rows.h"
#include "results/stats/breakeven.h"

namespace approx {

struct BreakEven {
  ExactCurve curve;
  EquivalentLength equivalent;  // of exact training, in epochs
  Bounded speedup;              // at which the row takes as long as that training

  bool has_curve() const { return equivalent.place != CurvePlace::kNoCurve; }
};

// By the exact trainings of exact_curve().
BreakEven break_even(const RowSet& set, const Row& row);

// Whether a row with a curve saves time at equal accuracy, at a speedup that was measured on so
// many occasions. It pays where all of the interval that decides (results/stats/deciding.h) lies
// above break-even, it does not where all lies below or a run of it diverged. Undecided without
// kSeedsForAVerdict seeds a side.
Reasoned pays(const Row& row, const BreakEven& needed, const Ratio& measured, int64_t occasions);

// "5.86 [5.81, >6.00]", "<4.20 [–, 4.31]": an end that is not known lies beyond the trained
// lengths.
std::string equivalent_text(const BreakEven& needed);

// "1.02× [<1.00, 1.03]", "–" without a curve.
std::string breakeven_text(const BreakEven& needed);

}  // namespace approx
