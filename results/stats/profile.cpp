#include "results/stats/profile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace approx {
namespace {

void check_times(const WorkloadTimes& times) {
  for (const auto& row : times) {
    require(!row.empty() && row.size() == times.front().size(),
            "a profile needs the same workloads for every method");
    for (const double time : row) {
      require(time > 0, "a profile of a time not above 0");
    }
  }
}

void check_ratios(std::span<const double> ratios) {
  require(!ratios.empty(), "a profile of no workloads");
  for (const double ratio : ratios) {
    require(ratio >= 1, "a ratio to the best below 1");
  }
}

void check_tau_max(double tau_max) {
  require(std::isfinite(tau_max) && tau_max > 1, "the end of a profile must be finite and above 1");
}

// Infinity where no method reached the target.
std::vector<double> best_times(const WorkloadTimes& times) {
  if (times.empty()) return {};
  std::vector<double> best = times.front();
  for (const auto& row : times) {
    for (size_t w = 0; w < row.size(); ++w) best[w] = std::min(best[w], row[w]);
  }
  return best;
}

// What one workload adds to the integral of rho.
double width_within(double ratio, double tau_max) { return std::max(0.0, tau_max - ratio); }

// How often each workload is in each resample: counts[draw][workload].
std::vector<std::vector<int64_t>> resample(size_t workloads, const ProfileOptions& options) {
  IndexDraws random(options.seed);
  std::vector<std::vector<int64_t>> counts(static_cast<size_t>(options.draws),
                                           std::vector<int64_t>(workloads));
  for (auto& count : counts) {
    for (size_t i = 0; i < workloads; ++i) ++count[random.below(workloads)];
  }
  return counts;
}

// The percentile interval of the mean of one value a workload.
Interval band_of(const std::vector<double>& values,
                 const std::vector<std::vector<int64_t>>& resamples, double confidence) {
  std::vector<double> means;
  for (const auto& counts : resamples) {
    double sum = 0;
    for (size_t w = 0; w < values.size(); ++w) sum += static_cast<double>(counts[w]) * values[w];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  return percentile_interval(std::move(means), confidence);
}

}  // namespace

std::vector<std::vector<double>> ratios_to_best(const WorkloadTimes& times) {
  check_times(times);
  const auto best = best_times(times);
  auto ratios = times;
  for (auto& row : ratios) {
    for (size_t w = 0; w < row.size(); ++w) {
      if (std::isfinite(row[w])) row[w] /= best[w];
    }
  }
  return ratios;
}

double profile_at(std::span<const double> ratios, double tau) {
  check_ratios(ratios);
  // An infinite tau would let a workload in that was not reached.
  const auto within = std::count_if(ratios.begin(), ratios.end(), [&](double ratio) {
    return std::isfinite(ratio) && ratio <= tau;
  });
  return static_cast<double>(within) / static_cast<double>(ratios.size());
}

double profile_score(std::span<const double> ratios, double tau_max) {
  check_ratios(ratios);
  check_tau_max(tau_max);
  double area = 0;
  for (const double ratio : ratios) area += width_within(ratio, tau_max);
  return area / static_cast<double>(ratios.size()) / (tau_max - 1);
}

std::vector<MethodProfile> performance_profiles(const WorkloadTimes& times,
                                                const ProfileOptions& options) {
  check_tau_max(options.tau_max);
  require(options.draws >= 1, "a bootstrap of no draws");
  const auto ratios = ratios_to_best(times);
  std::vector<MethodProfile> profiles;
  if (ratios.empty()) return profiles;
  const size_t workloads = ratios.front().size();
  const bool bands = workloads >= kWorkloadsForABand;
  const auto resamples = bands ? resample(workloads, options) : std::vector<std::vector<int64_t>>();
  for (const auto& row : ratios) {
    MethodProfile profile;
    profile.ratios = row;
    std::vector<double> taus = {1, options.tau_max};
    for (const double ratio : row) {
      if (ratio < options.tau_max) taus.push_back(ratio);
    }
    std::sort(taus.begin(), taus.end());
    taus.erase(std::unique(taus.begin(), taus.end()), taus.end());
    for (const double tau : taus) {
      ProfileStep step{tau, profile_at(row, tau), std::nullopt};
      if (bands) {
        std::vector<double> within;
        for (const double ratio : row) within.push_back(ratio <= tau ? 1 : 0);
        step.band = band_of(within, resamples, options.confidence);
      }
      profile.steps.push_back(step);
    }
    profile.score = profile_score(row, options.tau_max);
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

std::vector<RatioMean> geometric_means(const WorkloadTimes& times,
                                       std::span<const double> budgets) {
  check_times(times);
  const auto best = best_times(times);
  require(times.empty() || budgets.size() == best.size(),
          "a mean of ratios needs one budget a workload");
  std::vector<RatioMean> means;
  for (const auto& row : times) {
    RatioMean mean;
    double logs = 0;
    for (size_t w = 0; w < row.size(); ++w) {
      const bool reached = std::isfinite(row[w]);
      require(std::isfinite(budgets[w]) && !(reached && row[w] > budgets[w]),
              "a budget must be finite, and no target reached after it");
      if (!std::isfinite(best[w])) continue;
      ++mean.workloads;
      mean.unreached += !reached;
      logs += std::log((reached ? row[w] : budgets[w]) / best[w]);
    }
    if (mean.workloads > 0) mean.ratio = std::exp(logs / static_cast<double>(mean.workloads));
    means.push_back(mean);
  }
  return means;
}

}  // namespace approx
