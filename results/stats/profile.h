// Statistics over many workloads: performance profiles (Dolan and More 2002), the score made of
// them (AlgoPerf: Dahl et al. 2023), and the geometric mean of ratios. Bands show how much they
// depend on the choice of workloads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "results/stats/stats.h"

namespace approx {

// times[method][workload]: time to target in any unit, infinity where it was not reached. Rows must
// have one length, of at least one workload; there may be no rows. All functions that take it throw
// Error(kInternal) otherwise, and for a time that is not positive.
using WorkloadTimes = std::vector<std::vector<double>>;

// Each time over the best of its workload: 1 for the best. Infinity where the target was not
// reached, also if no method reached it.
std::vector<std::vector<double>> ratios_to_best(const WorkloadTimes& times);

// The share of workloads on which a method is within tau times the best: rho(tau) of one row of
// ratios_to_best. Throws Error(kInternal) for no ratios or one below 1.
double profile_at(std::span<const double> ratios, double tau);

// The mean of rho over tau from 1 to tau_max, by exact integration. It is 1 for a method that is
// best everywhere, and 0 for one that is never within tau_max. Throws as profile_at, and unless
// tau_max is finite and above 1.
double profile_score(std::span<const double> ratios, double tau_max);

// A step of a profile: the value of rho from `tau` up to the next step.
struct ProfileStep {
  double tau = 1;
  double rho = 0;
  std::optional<Interval> band;
};

struct MethodProfile {
  std::vector<double> ratios;  // to the best, one a workload
  // At 1, at each ratio up to tau_max, and at tau_max; rho does not change in between.
  std::vector<ProfileStep> steps;
  double score = 0;
};

// The least number of workloads for a band. With fewer, an interval of a resampled share covers the
// true share much less often than its confidence, and has no width where all agree.
inline constexpr size_t kWorkloadsForABand = 10;

struct ProfileOptions {
  double tau_max = 4;
  int64_t draws = 10000;  // resamples of the workloads
  uint64_t seed = 1;
  double confidence = kConfidence;
};

// The profile of each method. The bands are percentile intervals of resampled workloads, separate
// for each step. All methods see equal resamples, and equal seeds give equal bands. Fewer than
// kWorkloadsForABand workloads have no bands. A band says how far other workloads of the same kind
// could move a curve, not how exactly the times were measured.
std::vector<MethodProfile> performance_profiles(const WorkloadTimes& times,
                                                const ProfileOptions& options = {});

// The geometric mean of a method's ratios to the best.
struct RatioMean {
  std::optional<double> ratio;  // none when no workload was reached by any method
  int64_t workloads = 0;        // workloads that some method reached
  // How many of `workloads` this method did not reach. Each is counted with its budget, so the mean
  // is a lower bound if there are any.
  int64_t unreached = 0;
};

// The geometric mean of each method's ratios. budgets[workload] is the time that every method was
// given, in the unit of the times. A workload that no method reached is left out for all, since it
// has no best time.
// Throws Error(kInternal) unless there is one finite budget per workload and no target was reached
// after its budget.
std::vector<RatioMean> geometric_means(const WorkloadTimes& times, std::span<const double> budgets);

}  // namespace approx
