// How long training takes to reach a target when some runs never reach it. A run that stopped
// without reaching it is not lost: it took longer than it ran (it is censored). The mean over the
// runs that reached the target would be too low, "infinite" for the others says too much.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "results/stats/stats.h"

namespace approx {

// One run: what it took to reach the target, or how far it went without reaching it. All times of
// a list have one unit, which is the unit of everything that comes back: seconds, or steps.
// The curve takes a run that stopped for one that could have arrived later like the others. One
// that diverged could not: for all but the restarts, its time is the budget.
struct Attempt {
  double time = 0;
  bool reached = false;
};

// The share of attempts still without the target from `time` on (Kaplan and Meier 1958).
struct SurvivalStep {
  double time = 0;
  int64_t at_risk = 0;          // attempts that were still going just before
  int64_t reached = 0;          // of them, those that reached the target now
  double survival = 1;          // after them
  std::optional<double> error;  // Greenwood's standard error; none where survival is 0
};

struct TargetTime {
  int64_t n = 0, reached = 0;
  std::optional<double> fraction;  // reached / n
  Interval fraction_interval;      // Wilson's
  // A step at each time at which an attempt reached the target, in their order; survival is 1
  // before the first. An attempt that stopped at the time of a step counts as at risk there.
  std::vector<SurvivalStep> curve;
  double longest = 0;            // the longest time of all attempts; the curve ends there
  std::optional<double> median;  // the first time by which half have reached it, if they do
  // The mean of min(time to target, budget): the area under the curve up to the budget. None
  // without a budget, and where the curve ends above 0 before the budget.
  std::optional<double> restricted_mean;
  // Its standard error by Greenwood's formula (Klein and Moeschberger 2003, section 4.5, without
  // the correction for few events). None for one attempt and when none reached the target before
  // the budget, since nothing is then known of the spread.
  std::optional<double> restricted_error;
  // The time until the target when each attempt that failed is followed by another: all times
  // over the number of successes (the expected running time of Hansen et al. 2009). None when
  // nothing was reached.
  std::optional<double> expected_with_restarts;
};

// Throws Error(kInternal) for a time or budget that is not finite or below 0.
TargetTime time_to_target(std::span<const Attempt> attempts,
                          std::optional<double> budget = std::nullopt,
                          double confidence = kConfidence);

// The product of two ratios measured independently. On logarithms the half widths add as squares,
// each side by itself, so the limits need not be symmetric (Zou and Donner 2008); for log-normal
// errors that is the usual propagation. Both intervals must have the same confidence, which the
// product then has; n is the smaller one, and there is no interval without both.
// Throws Error(kInternal) for a ratio or limit that is not finite and positive, and for limits on
// the wrong side of their ratio.
Ratio product_of_ratios(const Ratio& first, const Ratio& second);

// What one run took to reach the target.
struct TargetEffort {
  double steps = 0;
  double seconds = 0;
};

// Speedup in time to target taken apart; each ratio is dense over method, above 1 where the method
// is better.
struct TargetSpeedup {
  Ratio steps;      // fewer steps
  Ratio step_time;  // faster steps: seconds / steps of the same runs
  Ratio time;       // of the seconds themselves: the product of both, whose interval knows how they
                    // go together
};

// Pairs of runs (same seed) that both reached the target.
// Throws Error(kInternal) for lists of different length, and for a number that is not finite and
// positive.
TargetSpeedup target_speedup(std::span<const TargetEffort> dense,
                             std::span<const TargetEffort> method, double confidence = kConfidence);

}  // namespace approx
