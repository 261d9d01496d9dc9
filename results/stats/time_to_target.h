// Time to reach a target when some runs never reach it. A run that stopped without reaching it is
// censored: it took longer than it ran. The mean over the runs that reached the target would be too
// low, and "infinite" for the others says too much.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "results/stats/stats.h"

namespace approx {

// One run: the time until it reached the target, or how long it ran without reaching it. All times
// of a list have one unit, seconds or steps, and all results have that unit. The curve treats a
// stopped run as one that could have reached the target later. A run that diverged could not. Its
// time is the budget, except in the time with restarts.
struct Attempt {
  double time = 0;
  bool reached = false;
};

// The share of attempts that have not reached the target from `time` on (Kaplan and Meier 1958).
struct SurvivalStep {
  double time = 0;
  int64_t at_risk = 0;          // attempts that were still running just before `time`
  int64_t reached = 0;          // attempts among them that reached the target at `time`
  double survival = 1;          // the share after `time`
  std::optional<double> error;  // Greenwood's standard error; none where survival is 0
};

struct TargetTime {
  int64_t n = 0, reached = 0;
  std::optional<double> fraction;  // reached / n
  Interval fraction_interval;      // Wilson's
  // One step at each time at which an attempt reached the target, in order of time; survival is 1
  // before the first. An attempt that stopped at the time of a step counts as at risk there.
  std::vector<SurvivalStep> curve;
  double longest = 0;  // the longest time of all attempts; the curve ends there
  // The first time by which half of the attempts have reached it; none if they do not.
  std::optional<double> median;
  // Its interval by the sign test, from order statistics. It needs six attempts for 95 %. An
  // attempt that stopped counts with its own time for the lower end and as endless for the upper
  // one. So the interval is exact without early stops, and wider with them. An endless end is none.
  std::optional<double> median_lo, median_hi;
  // The mean of min(time to target, budget): the area under the curve up to the budget. None
  // without a budget, and where the curve ends above 0 before the budget.
  std::optional<double> restricted_mean;
  // Its standard error by Greenwood's formula (Klein and Moeschberger 2003, section 4.5, without
  // the correction for few events). None for one attempt, and if no attempt reached the target
  // before the budget, since the spread is then unknown.
  std::optional<double> restricted_error;
  std::optional<double> restricted_half;  // half width of the interval, by the normal quantile
  // The expected running time (Hansen et al. 2009): each failed attempt is followed by another one.
  // It is the sum of all times over the number of successes. None if no attempt succeeded.
  std::optional<double> expected_with_restarts;
  // Half the width of its t-interval by the jackknife over attempts. None for fewer than two
  // successes, since without the only one there is no such time.
  std::optional<double> restarts_half;
};

// Computes the statistics of attempts; a `budget` is needed for the restricted mean. Throws
// Error(kInternal) for a time or budget that is not finite or below 0.
TargetTime time_to_target(std::span<const Attempt> attempts,
                          std::optional<double> budget = std::nullopt,
                          double confidence = kConfidence);

// The product of two independently measured ratios. On logarithms the half widths add as squares,
// each side separately, so the limits need not be symmetric (Zou and Donner 2008). For log-normal
// errors this is the usual propagation. Both intervals must have the same confidence, which the
// product then has. n is the smaller one. There is no interval unless both have one.
// Throws Error(kInternal) for a ratio or limit that is not finite and positive, and for limits on
// the wrong side of their ratio.
Ratio product_of_ratios(const Ratio& first, const Ratio& second);

// The steps and seconds that one run took to reach the target.
struct TargetEffort {
  double steps = 0;
  double seconds = 0;
};

// The speedup in time to target and its two factors. Each ratio is dense over method, above 1 where
// the method is better.
struct TargetSpeedup {
  Ratio steps;      // fewer steps
  Ratio step_time;  // faster steps: seconds / steps of the same runs
  Ratio time;  // of the seconds: the product of both, with an interval that knows their correlation
};

// Compares pairs of runs (same seed) that both reached the target.
// Throws Error(kInternal) for lists of different length, and for a number that is not finite and
// positive.
TargetSpeedup target_speedup(std::span<const TargetEffort> dense,
                             std::span<const TargetEffort> method, double confidence = kConfidence);

}  // namespace approx
