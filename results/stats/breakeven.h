// How long exact training takes to be as accurate as a method: what the method's speedup has to
// beat (docs/internals/statistics.md, "Break-even").
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

// A curve takes exact trainings of so many lengths.
inline constexpr int64_t kLengthsForACurve = 3;

// Where the exact curve has a method's mean accuracy.
enum class CurvePlace { kNoCurve, kBelowAll, kWithin, kAboveAll };

constexpr auto enum_texts(CurvePlace) {
  return std::to_array<EnumText<CurvePlace>>({{CurvePlace::kNoCurve, ""},
                                              {CurvePlace::kBelowAll, "below the shortest"},
                                              {CurvePlace::kWithin, "within"},
                                              {CurvePlace::kAboveAll, "above the longest"}});
}

struct EquivalentLength {
  int64_t n = 0;                     // trainings of the method
  int64_t runs = 0, lengths = 0;     // exact trainings, and their different lengths
  int64_t seeds = 0;                 // of the side that has fewer
  double shortest = 0, longest = 0;  // of those lengths; 0 without any
  // kBelowAll: the method is worse than the shortest exact training, kAboveAll: better than the
  // longest. kNoCurve: of fewer lengths than kLengthsForACurve, or without a method's training.
  CurvePlace place = CurvePlace::kNoCurve;
  std::optional<double> length;  // kWithin only
  // The ends of the interval of the length. An end is missing where it lies beyond the trained
  // lengths, so that kBelowAll has no `lo` and kAboveAll no `hi`. A `hi` that is `shortest` says
  // that the method is surely worse than the shortest exact training, a `lo` that is `longest` that
  // it is surely better than the longest. Neither with fewer than two seeds of either side.
  std::optional<double> lo, hi;
};

// The curve is a polynomial of degree two in the logarithm of the length, fitted by least squares
// to all exact trainings such that it nowhere falls between the shortest and the longest. The
// interval has every length at which the fitted accuracy (without that condition) and the method's
// mean do not differ by a t-test. The error of their difference is the jackknife's over seeds,
// which leaves all trainings of a seed out together, so that these may depend on each other. Its
// degrees of freedom are those of Welch and Satterthwaite over three groups of seeds: of both
// sides, of exact training alone, of the method alone. Where both sides have the same seeds at
// every length it is the t-test of the differences paired by seed.
// Throws Error(kInternal) for a value that is not finite or a length that is not above 0.
EquivalentLength equivalent_length(std::span<const ExactTraining> exact,
                                   std::span<const MethodTraining> method,
                                   double confidence = kConfidence);

// The fitted curve that equivalent_length() reads, at lengths that divide the logarithm evenly,
// from the shortest to the longest; nothing without a curve.
struct CurveAt {
  double length = 0, accuracy = 0;
};
std::vector<CurveAt> fitted_curve(std::span<const ExactTraining> exact);

// A number and the ends of its interval, each where it is known.
struct Bounded {
  std::optional<double> value, lo, hi;
};

// The speedup at which a method of `length` takes the time of the exact training that is as
// accurate: `length` over that of the exact training. Ends that lie beyond the trained lengths are
// missing, and so is the value there.
Bounded breakeven_speedup(double length, const EquivalentLength& equivalent);

// A speedup over the break-even speedup, less 1, in percent; nothing without a speedup. The two are
// measured apart: on logarithms their half widths add as squares, each side by itself. Where the
// break-even speedup is known by a bound alone the bound stands for it.
Bounded percent_above(const Ratio& speedup, const Bounded& breakeven);

// How many lengths are different by more than rounding.
int64_t count_lengths(std::span<const ExactTraining> exact);

}  // namespace approx
