// How long exact training takes to be as accurate as a method. The method's speedup has to beat
// that (docs/internals/statistics.md, "Break-even").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/enum_text.h"
#include "results/stats/stats.h"

namespace approx {

// An exact training. `length`: above 0, in any unit; `accuracy`: in any unit.
struct ExactTraining {
  int64_t seed = 0;
  double length = 0, accuracy = 0;
};

// A training of the method, in the unit of the exact accuracies.
struct MethodTraining {
  int64_t seed = 0;
  double accuracy = 0;
};

// A curve needs exact trainings of at least this many different lengths.
inline constexpr int64_t kLengthsForACurve = 3;

// The place of a method's mean accuracy on the exact curve.
enum class CurvePlace { kNoCurve, kBelowAll, kWithin, kAboveAll };

constexpr auto enum_texts(CurvePlace) {
  return std::to_array<EnumText<CurvePlace>>({{CurvePlace::kNoCurve, ""},
                                              {CurvePlace::kBelowAll, "below the shortest"},
                                              {CurvePlace::kWithin, "within"},
                                              {CurvePlace::kAboveAll, "above the longest"}});
}

struct EquivalentLength {
  int64_t n = 0;                  // trainings of the method
  int64_t runs = 0, lengths = 0;  // exact trainings, and their different lengths
  int64_t seeds = 0;              // seeds of the side that has fewer
  int64_t fewest_seeds = 0;       // at most that; of exact training, at the length with the fewest
  // The shortest and the longest exact training; 0 without any.
  double shortest = 0, longest = 0;
  // Place of the method. At kBelowAll it is worse than the shortest exact training, at kAboveAll
  // better than the longest. At kNoCurve there are fewer lengths than kLengthsForACurve, or no
  // training of the method.
  CurvePlace place = CurvePlace::kNoCurve;
  std::optional<double> length;  // for kWithin only
  // The ends of the interval of `length`. An end is missing where it lies beyond the trained
  // lengths, so kBelowAll has no `lo` and kAboveAll no `hi`. A `hi` equal to `shortest`: the method
  // is surely worse than the shortest exact training. A `lo` equal to `longest`: it is surely
  // better than the longest. Both are missing with fewer than two seeds on either side.
  std::optional<double> lo, hi;
};

// Finds the length of exact training that is as accurate as the method. The curve is a polynomial
// of degree two in the logarithm of the length, fitted by least squares to all exact trainings. The
// fit is constrained: it never falls between the shortest and the longest.
// The interval has every length at which the fitted accuracy (without the constraint) and the
// method's mean do not differ by a t-test. The error of their difference is the jackknife's over
// seeds. All trainings of a seed are left out together, so they may depend on each other. The
// degrees of freedom are those of Welch and Satterthwaite. They are over three groups of seeds: in
// both sides, in exact training only, in the method only. Where both sides have the same seeds at
// every length, this is the t-test of the differences paired by seed.
// Throws Error(kInternal) for a value that is not finite or a length that is not above 0.
EquivalentLength equivalent_length(std::span<const ExactTraining> exact,
                                   std::span<const MethodTraining> method,
                                   double confidence = kConfidence);

// A point of the fitted curve that equivalent_length() reads. The points of fitted_curve() divide
// the logarithm of the length evenly, from the shortest to the longest; none without a curve.
struct CurveAt {
  double length = 0, accuracy = 0;
};
std::vector<CurveAt> fitted_curve(std::span<const ExactTraining> exact);

// A number and the ends of its interval; each may be unknown.
struct Bounded {
  std::optional<double> value, lo, hi;
};

// The speedup at which a method of `length` takes as long as equally accurate exact training:
// `length` divided by the equivalent length. Value and ends are missing where that lies beyond the
// trained lengths.
Bounded breakeven_speedup(double length, const EquivalentLength& equivalent);

// A speedup divided by the break-even speedup, minus 1, in percent; nothing without a speedup. Both
// are measured independently: on logarithms their half widths add as squares, each side separately.
// If only a bound of the break-even speedup is known, the bound is used.
Bounded percent_above(const Ratio& speedup, const Bounded& breakeven);

// The number of different lengths; lengths that differ only by rounding are one.
int64_t count_lengths(std::span<const ExactTraining> exact);

}  // namespace approx
