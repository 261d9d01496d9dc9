#include "results/stats/time_to_target.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace approx {
namespace {

void check_time(double time) {
  require(std::isfinite(time) && time >= 0, "a time to target must be finite and not below 0");
}

void check_positive(double value) {
  require(std::isfinite(value) && value > 0, "a ratio needs numbers that are finite and positive");
}

std::vector<SurvivalStep> survival_curve(const std::vector<Attempt>& sorted) {
  std::vector<SurvivalStep> curve;
  double survival = 1, greenwood = 0;
  for (size_t first = 0; first < sorted.size();) {
    size_t next = first;
    SurvivalStep step;
    step.time = sorted[first].time;
    step.at_risk = static_cast<int64_t>(sorted.size() - first);
    for (; next < sorted.size() && sorted[next].time == step.time; ++next) {
      step.reached += sorted[next].reached;
    }
    first = next;
    if (step.reached == 0) continue;
    const auto at_risk = static_cast<double>(step.at_risk);
    const auto left = static_cast<double>(step.at_risk - step.reached);
    survival *= left / at_risk;
    step.survival = survival;
    if (left > 0) {
      greenwood += static_cast<double>(step.reached) / (at_risk * left);
      step.error = survival * std::sqrt(greenwood);
    }
    curve.push_back(step);
  }
  return curve;
}

// The area under the curve up to `budget`, and the variance of that.
std::pair<double, double> restricted_mean(const std::vector<SurvivalStep>& curve, double budget) {
  double area = 0, variance = 0, end = budget;
  // From the right, since Greenwood's formula weighs each step with the area behind it.
  for (size_t i = curve.size(); i-- > 0;) {
    const auto& step = curve[i];
    if (step.time >= budget) continue;
    area += step.survival * (end - step.time);
    end = step.time;
    const auto left = static_cast<double>(step.at_risk - step.reached);
    if (left > 0) {
      variance += area * area * static_cast<double>(step.reached) /
                  (static_cast<double>(step.at_risk) * left);
    }
  }
  return {area + end, variance};
}

// The standard deviation of n estimates that each leave one attempt out, scaled to the error of the
// estimate from all (Efron and Tibshirani 1993, section 11.2).
std::optional<double> restarts_half(std::span<const Attempt> attempts, double total,
                                    int64_t reached, double confidence) {
  if (reached < 2) return std::nullopt;
  std::vector<double> without;
  for (const Attempt& attempt : attempts) {
    without.push_back((total - attempt.time) / static_cast<double>(reached - attempt.reached));
  }
  const auto n = static_cast<double>(without.size());
  return t_quantile(n - 1, confidence) * *summarize(without).sd * (n - 1) / std::sqrt(n);
}

// Sets the interval of the median.
void bound_median(TargetTime& result, std::span<const Attempt> attempts, double confidence) {
  // So many of the least and of the greatest times lie outside with the confidence that is asked.
  const boost::math::binomial half(static_cast<double>(result.n), 0.5);
  int64_t outside = 0;
  while (2 * cdf(half, static_cast<double>(outside)) <= 1 - confidence) ++outside;
  if (outside == 0) return;
  std::vector<double> least, most;
  for (const Attempt& attempt : attempts) {
    least.push_back(attempt.time);
    most.push_back(attempt.reached ? attempt.time : std::numeric_limits<double>::infinity());
  }
  std::ranges::sort(least);
  std::ranges::sort(most, std::greater<>());
  const auto at = static_cast<size_t>(outside - 1);
  result.median_lo = least[at];
  if (std::isfinite(most[at])) result.median_hi = most[at];
}

// The logarithms of a ratio and its limits.
struct LogRatio {
  double mid, lo, hi;
};

LogRatio logarithms(const Ratio& ratio) {
  const double lo = ratio.least(), hi = ratio.most();
  for (const double value : {ratio.ratio, lo, hi}) check_positive(value);
  require(lo <= ratio.ratio && ratio.ratio <= hi, "a ratio outside its own interval");
  return {std::log(ratio.ratio), std::log(lo), std::log(hi)};
}

}  // namespace

TargetTime time_to_target(std::span<const Attempt> attempts, std::optional<double> budget,
                          double confidence) {
  if (budget) check_time(*budget);
  TargetTime result;
  double total = 0;
  for (const Attempt& attempt : attempts) {
    check_time(attempt.time);
    total += attempt.time;
    result.reached += attempt.reached;
    result.longest = std::max(result.longest, attempt.time);
  }
  result.n = static_cast<int64_t>(attempts.size());
  result.fraction_interval = wilson_interval(result.reached, result.n, confidence);
  if (result.n == 0) return result;
  result.fraction = static_cast<double>(result.reached) / static_cast<double>(result.n);
  if (result.reached > 0) {
    result.expected_with_restarts = total / static_cast<double>(result.reached);
    result.restarts_half = restarts_half(attempts, total, result.reached, confidence);
  }

  std::vector<Attempt> sorted(attempts.begin(), attempts.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Attempt& a, const Attempt& b) { return a.time < b.time; });
  result.curve = survival_curve(sorted);
  for (const SurvivalStep& step : result.curve) {
    // A product of shares that should be a half may miss it by its last bits.
    if (step.survival > 0.5 + 1e-12) continue;
    result.median = step.time;
    break;
  }
  bound_median(result, attempts, confidence);

  const bool ends_at_zero = !result.curve.empty() && result.curve.back().survival == 0;
  if (budget && (*budget <= result.longest || ends_at_zero)) {
    const auto [mean, variance] = restricted_mean(result.curve, *budget);
    result.restricted_mean = mean;
    const bool any_before = !result.curve.empty() && result.curve.front().time < *budget;
    if (result.n > 1 && any_before) {
      result.restricted_error = std::sqrt(variance);
      result.restricted_half =
          boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2) * std::sqrt(variance);
    }
  }
  return result;
}

Ratio product_of_ratios(const Ratio& first, const Ratio& second) {
  const LogRatio a = logarithms(first), b = logarithms(second);
  Ratio product;
  product.n = std::min(first.n, second.n);
  product.ratio = std::exp(a.mid + b.mid);
  if (first.lo && first.hi && second.lo && second.hi) {
    product.lo = std::exp(a.mid + b.mid - std::hypot(a.mid - a.lo, b.mid - b.lo));
    product.hi = std::exp(a.mid + b.mid + std::hypot(a.hi - a.mid, b.hi - b.mid));
  }
  return product;
}

TargetSpeedup target_speedup(std::span<const TargetEffort> dense,
                             std::span<const TargetEffort> method, double confidence) {
  for (const auto& efforts : {dense, method}) {
    for (const TargetEffort& effort : efforts) {
      check_positive(effort.steps);
      check_positive(effort.seconds);
    }
  }
  const auto ratio_of = [&](const auto& number) {
    std::vector<double> numerator, denominator;
    for (const TargetEffort& effort : dense) numerator.push_back(number(effort));
    for (const TargetEffort& effort : method) denominator.push_back(number(effort));
    return ratio_of_pairs(numerator, denominator, confidence);
  };
  return {.steps = ratio_of([](const TargetEffort& effort) { return effort.steps; }),
          .step_time =
              ratio_of([](const TargetEffort& effort) { return effort.seconds / effort.steps; }),
          .time = ratio_of([](const TargetEffort& effort) { return effort.seconds; })};
}

}  // namespace approx
