#include "results/stats.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "core/spec/error.h"

namespace approx {
namespace {

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double squares_about(std::span<const double> values, double mean) {
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

double quantile_of_sorted(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<double> sorted_copy(std::vector<double> values) {
  if (values.empty()) throw Error(ErrorKind::kInternal, "a quantile of no values");
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

double t_quantile(double degrees, double confidence) {
  return boost::math::quantile(boost::math::students_t(degrees), 0.5 + confidence / 2);
}

Summary summarize(std::span<const double> values, double confidence) {
  for (const double value : values) {
    if (!std::isfinite(value)) {
      throw Error(ErrorKind::kInternal, "statistics of a value that is not finite");
    }
  }
  Summary summary;
  summary.n = static_cast<int64_t>(values.size());
  if (values.empty()) return summary;
  summary.mean = mean_of(values);
  if (summary.n > 1) {
    const auto n = static_cast<double>(summary.n);
    summary.sd = std::sqrt(squares_about(values, summary.mean) / (n - 1));
    summary.half = t_quantile(n - 1, confidence) * *summary.sd / std::sqrt(n);
  }
  return summary;
}

PairedDifference paired_difference(std::span<const double> differences, double confidence) {
  PairedDifference result{summarize(differences, confidence), std::nullopt};
  constexpr int64_t kMostPairs = 20;
  if (result.n < 2 || result.n > kMostPairs) return result;

  double sum = 0, scale = 0;
  for (const double value : differences) {
    sum += value;
    scale += std::fabs(value);
  }
  // Sums taken in another order differ in their last bits; equal ones must count as equal.
  const double observed = std::fabs(sum) - 1e-12 * scale;
  int64_t as_far = 0;
  const int64_t patterns = int64_t{1} << result.n;
  for (int64_t pattern = 0; pattern < patterns; ++pattern) {
    double flipped = 0;
    for (int64_t i = 0; i < result.n; ++i) {
      const double value = differences[static_cast<size_t>(i)];
      flipped += (pattern >> i) & 1 ? -value : value;
    }
    as_far += std::fabs(flipped) >= observed;
  }
  result.p = static_cast<double>(as_far) / static_cast<double>(patterns);
  return result;
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const double scaled = static_cast<double>(p.size() - rank) * p[order[rank]];
    largest = std::max(largest, std::min(1.0, scaled));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

Ratio ratio_of_pairs(std::span<const double> numerator, std::span<const double> denominator,
                     double confidence) {
  if (numerator.size() != denominator.size()) {
    throw Error(ErrorKind::kInternal, "a ratio of pairs needs as many numerators as denominators");
  }
  std::vector<double> logs;
  for (size_t i = 0; i < numerator.size(); ++i) {
    logs.push_back(std::log(numerator[i] / denominator[i]));
  }
  return ratio_of_groups({logs}, confidence);
}

Ratio ratio_of_groups(const std::vector<std::vector<double>>& log_ratios, double confidence) {
  Ratio result;
  std::vector<double> means;
  double squares = 0, weight = 0;  // sum of 1/n over the groups
  for (const auto& group : log_ratios) {
    if (group.empty()) continue;
    const Summary summary = summarize(group, confidence);
    means.push_back(summary.mean);
    squares += squares_about(group, summary.mean);
    weight += 1 / static_cast<double>(summary.n);
    result.n += summary.n;
  }
  if (means.empty()) return result;

  const Summary between = summarize(means, confidence);
  std::optional<double> half = between.half;
  const auto groups = static_cast<int64_t>(means.size());
  if (result.n > groups) {
    const auto degrees = static_cast<double>(result.n - groups);
    const double error = std::sqrt(squares / degrees * weight) / static_cast<double>(groups);
    const double within = t_quantile(degrees, confidence) * error;
    half = half ? std::max(*half, within) : within;
  }
  result.ratio = std::exp(between.mean);
  if (half) {
    result.lo = std::exp(between.mean - *half);
    result.hi = std::exp(between.mean + *half);
  }
  return result;
}

double quantile(std::vector<double> values, double q) {
  return quantile_of_sorted(sorted_copy(std::move(values)), q);
}

Quartiles quartiles(std::vector<double> values) {
  const auto sorted = sorted_copy(std::move(values));
  return {quantile_of_sorted(sorted, 0.25), quantile_of_sorted(sorted, 0.5),
          quantile_of_sorted(sorted, 0.75)};
}

}  // namespace approx
