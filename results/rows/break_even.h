// The speedup that a row needs to pay, and whether it has it. Exact trainings of several lengths
// decide (docs/internals/statistics.md, "Break-even").
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
  EquivalentLength equivalent;  // length of equally accurate exact training, in epochs
  Bounded speedup;              // at which the row takes as long as that training

  bool has_curve() const { return equivalent.place != CurvePlace::kNoCurve; }
};

// Computes the break-even of a row from the exact trainings of exact_curve().
BreakEven break_even(const RowSet& set, const Row& row);

// Whether a row saves time at equal accuracy, at a speedup `measured` on `occasions` occasions.
// Yes: all of the deciding interval (results/stats/deciding.h) is above break-even. No: all of it
// is below, or a run of the row diverged. Undecided otherwise, and with fewer than
// kSeedsForAVerdict seeds on either side.
Reasoned pays(const Row& row, const BreakEven& needed, const Ratio& measured, int64_t occasions);

// The equivalent length as text: "5.86 [5.81, >6.00]", "<4.20 [–, 4.31]". An unknown end lies
// beyond the trained lengths.
std::string equivalent_text(const BreakEven& needed);

// The break-even speedup as text: "1.02× [<1.00, 1.03]"; "–" without a curve.
std::string breakeven_text(const BreakEven& needed);

}  // namespace approx
