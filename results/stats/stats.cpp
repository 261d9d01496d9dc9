#include "results/stats/stats.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"

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

void check_confidence(double confidence) {
  require(confidence > 0 && confidence < 1, "a confidence outside 0 to 1");
}

// How many of the ordered means of two values lie outside an interval at either end. It is the
// largest k with 2 P(T < k) within the rest of `confidence`, where T is Wilcoxon's sum of the ranks
// of positive values. Half of all sign patterns have a rank's value positive.
int64_t least_ranks(int64_t n, double confidence) {
  const double allowed = (1 - confidence) / 2;
  constexpr int64_t kMostForExact = 50;
  if (n > kMostForExact) {
    const auto count = static_cast<double>(n);
    const double z = boost::math::quantile(boost::math::normal(), 1 - allowed);
    const double sd = std::sqrt(count * (count + 1) * (2 * count + 1) / 24);
    return static_cast<int64_t>(count * (count + 1) / 4 - z * sd);
  }
  std::vector<double> share = {1};  // P(T = t)
  for (int64_t rank = 1; rank <= n; ++rank) {
    std::vector<double> next(share.size() + static_cast<size_t>(rank), 0.0);
    for (size_t t = 0; t < share.size(); ++t) {
      next[t] += share[t] / 2;
      next[t + static_cast<size_t>(rank)] += share[t] / 2;
    }
    share = std::move(next);
  }
  int64_t outside = 0;
  double below = 0;
  for (const double each : share) {
    below += each;
    if (below > allowed) break;
    ++outside;
  }
  return outside;
}

std::vector<double> sorted_copy(std::vector<double> values) {
  require(!values.empty(), "a quantile of no values");
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

void require(bool holds, const char* what) {
  if (!holds) throw Error(ErrorKind::kInternal, what);
}

double t_quantile(double degrees, double confidence) {
  return boost::math::quantile(boost::math::students_t(degrees), 0.5 + confidence / 2);
}

Summary summarize(std::span<const double> values, double confidence) {
  for (const double value : values) {
    require(std::isfinite(value), "statistics of a value that is not finite");
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

std::vector<std::optional<double>> holm_of_declared(const std::vector<std::optional<double>>& p) {
  std::vector<double> filled;
  for (const auto& each : p) filled.push_back(each.value_or(1));
  const auto adjusted = holm(filled);
  std::vector<std::optional<double>> all(p.size());
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i]) all[i] = adjusted[i];
  }
  return all;
}

int64_t pairs_for_holm(int64_t tests, double level) {
  if (tests <= 0) return 0;
  int64_t pairs = 1;
  double smallest = static_cast<double>(tests);  // of one pair: 2 / 2^1 for each test
  for (; smallest >= level; smallest /= 2) ++pairs;
  return pairs;
}

Ratio ratio_of_pairs(std::span<const double> numerator, std::span<const double> denominator,
                     double confidence) {
  require(numerator.size() == denominator.size(),
          "a ratio of pairs needs as many numerators as denominators");
  std::vector<double> logs;
  for (size_t i = 0; i < numerator.size(); ++i) {
    logs.push_back(std::log(numerator[i] / denominator[i]));
  }
  return ratio_of_logs(logs, confidence);
}

std::vector<double> logs_of_mirrored(std::span<const double> numerator,
                                     std::span<const double> denominator) {
  require(numerator.size() == denominator.size(),
          "a ratio of pairs needs as many numerators as denominators");
  std::vector<double> logs;
  const auto log_at = [&](size_t at) { return std::log(numerator[at] / denominator[at]); };
  for (size_t at = 0; at < numerator.size(); at += 2) {
    const bool alone = at + 1 == numerator.size();
    logs.push_back(alone ? log_at(at) : (log_at(at) + log_at(at + 1)) / 2);
  }
  return logs;
}

Ratio ratio_of_mirrored(std::span<const double> numerator, std::span<const double> denominator,
                        double confidence) {
  const auto pairs = static_cast<int64_t>(numerator.size());
  if (pairs < kPairsToMirror) return ratio_of_pairs(numerator, denominator, confidence);
  Ratio ratio = ratio_of_mirrored_logs(logs_of_mirrored(numerator, denominator), confidence);
  ratio.n = pairs;
  return ratio;
}

PseudoMedian pseudo_median(std::span<const double> values, double confidence) {
  check_confidence(confidence);
  std::vector<double> means;
  for (size_t i = 0; i < values.size(); ++i) {
    require(std::isfinite(values[i]), "statistics of a value that is not finite");
    for (size_t j = 0; j <= i; ++j) means.push_back((values[i] + values[j]) / 2);
  }
  means = sorted_copy(std::move(means));
  PseudoMedian result{.middle = quantile_of_sorted(means, 0.5), .lo = {}, .hi = {}};
  const int64_t outside = least_ranks(static_cast<int64_t>(values.size()), confidence);
  if (outside == 0) return result;
  result.lo = means[static_cast<size_t>(outside - 1)];
  result.hi = means[means.size() - static_cast<size_t>(outside)];
  return result;
}

Ratio ratio_of_mirrored_logs(std::span<const double> logs, double confidence) {
  // Beyond so many the pseudo-median takes long, and a mean of so many is nearly normal.
  constexpr size_t kMostForRanks = 1000;
  const auto mean = ratio_of_logs(logs, confidence);
  if (logs.empty() || logs.size() > kMostForRanks) return mean;
  const auto median = pseudo_median(logs, confidence);
  if (!median.lo) return mean;
  return {.n = mean.n,
          .ratio = std::exp(median.middle),
          .lo = std::exp(*median.lo),
          .hi = std::exp(*median.hi)};
}

Ratio ratio_of_logs(std::span<const double> log_ratios, double confidence) {
  const Summary summary = summarize(log_ratios, confidence);
  Ratio result{.n = summary.n, .ratio = std::exp(summary.mean)};
  if (summary.half) {
    result.lo = std::exp(summary.mean - *summary.half);
    result.hi = std::exp(summary.mean + *summary.half);
  }
  return result;
}

Ratio ratio_of_processes(const std::vector<std::vector<double>>& log_ratios, double confidence) {
  std::vector<double> means;
  for (const auto& group : log_ratios) {
    if (!group.empty()) means.push_back(summarize(group).mean);
  }
  return ratio_of_logs(means, confidence);
}

Ratio ratio_of_ratios(const Ratio& a, const Ratio& b) {
  Ratio ratio;
  if (a.n == 0 || b.n == 0) return ratio;
  ratio.n = std::min(a.n, b.n);
  const double log = std::log(a.ratio / b.ratio);
  ratio.ratio = std::exp(log);
  if (a.lo && b.lo) {
    const double down = std::hypot(std::log(a.ratio / *a.lo), std::log(*b.hi / b.ratio));
    const double up = std::hypot(std::log(*a.hi / a.ratio), std::log(b.ratio / *b.lo));
    ratio.lo = std::exp(log - down), ratio.hi = std::exp(log + up);
  }
  return ratio;
}

std::optional<Realisation> realisation(const Ratio& speedup, double saved) {
  if (speedup.n == 0 || !(saved > 0)) return std::nullopt;
  const auto of = [saved](double ratio) { return (1 - 1 / ratio) / saved; };
  Realisation result{.n = speedup.n, .value = of(speedup.ratio), .lo = {}, .hi = {}};
  if (speedup.lo && speedup.hi) result.lo = of(*speedup.lo), result.hi = of(*speedup.hi);
  return result;
}

SpeedChange speed_change(const Ratio& ratio, double least) {
  if (!ratio.lo || !ratio.hi) return SpeedChange::kUndecided;
  const double faster = 1 + least, slower = 1 / faster;
  if (*ratio.lo > 1 && ratio.ratio >= faster) return SpeedChange::kFaster;
  if (*ratio.hi < 1 && ratio.ratio <= slower) return SpeedChange::kSlower;
  const bool within = *ratio.lo >= slower && *ratio.hi <= faster;
  return within ? SpeedChange::kSame : SpeedChange::kUndecided;
}

bool FalseVerdicts::passed() const {
  constexpr int64_t kAllowedPercent = 5;  // 1 - kConfidence, in numbers that compare exactly
  return 100 * false_ones <= kAllowedPercent * n;
}

FalseVerdicts false_verdicts(std::span<const Ratio> ratios, double least) {
  FalseVerdicts result;
  for (const Ratio& ratio : ratios) {
    const SpeedChange change = speed_change(ratio, least);
    ++result.n;
    if (change == SpeedChange::kFaster || change == SpeedChange::kSlower) ++result.false_ones;
    if (ratio.lo && ratio.hi && (*ratio.lo > 1 || *ratio.hi < 1)) ++result.without_one;
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

Interval wilson_interval(int64_t successes, int64_t n, double confidence) {
  check_confidence(confidence);
  require(0 <= successes && successes <= n, "a share needs 0 <= successes <= n");
  if (n == 0) return {0, 1};
  const double z = boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2);
  const auto trials = static_cast<double>(n);
  const double share = static_cast<double>(successes) / trials;
  const double shrink = 1 + z * z / trials;
  const double centre = (share + z * z / (2 * trials)) / shrink;
  const double half =
      z * std::sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / shrink;
  // Exact at the ends, where rounding would leave a trace of the other side.
  return {successes == 0 ? 0 : centre - half, successes == n ? 1 : centre + half};
}

NonInferiorityTest non_inferiority(std::span<const double> losses, double margin,
                                   double confidence) {
  check_confidence(confidence);
  require(std::isfinite(margin) && margin >= 0, "a margin must be finite and not below 0");
  const Summary summary = summarize(losses, confidence);
  NonInferiorityTest test{summary.n, summary.mean, {}, {}, NonInferiority::kInconclusive};
  if (!summary.sd) return test;
  const auto n = static_cast<double>(summary.n);
  // The quantile that `confidence` lies below, from the two-sided one.
  const double half = t_quantile(n - 1, 2 * confidence - 1) * *summary.sd / std::sqrt(n);
  test.lower = summary.mean - half;
  test.upper = summary.mean + half;
  if (*test.upper < margin) test.verdict = NonInferiority::kNonInferior;
  if (*test.lower > margin) test.verdict = NonInferiority::kInferior;
  return test;
}

Agreement agreement(double lo, double hi, double reference, double tolerance) {
  require(std::isfinite(lo) && std::isfinite(hi) && std::isfinite(reference) &&
              std::isfinite(tolerance) && lo <= hi && tolerance >= 0,
          "an agreement needs an interval and a tolerance, all finite");
  const double from = reference - tolerance, to = reference + tolerance;
  if (lo >= from && hi <= to) return Agreement::kAgrees;
  if (hi < from || lo > to) return Agreement::kDiffers;
  return Agreement::kUnresolved;
}

WelchDifference welch_difference(std::span<const double> a, std::span<const double> b,
                                 double confidence) {
  check_confidence(confidence);
  const Summary first = summarize(a, confidence), second = summarize(b, confidence);
  WelchDifference result;
  result.n_a = first.n;
  result.n_b = second.n;
  if (first.n == 0 || second.n == 0) return result;
  result.difference = first.mean - second.mean;
  if (!first.sd || !second.sd) return result;
  const double variance_a = *first.sd * *first.sd / static_cast<double>(first.n);
  const double variance_b = *second.sd * *second.sd / static_cast<double>(second.n);
  const double variance = variance_a + variance_b;
  if (variance == 0) {
    result.degrees = static_cast<double>(first.n + second.n - 2);
    result.half = 0;
    return result;
  }
  const double share_a = variance_a / variance, share_b = variance_b / variance;
  result.degrees = 1 / (share_a * share_a / static_cast<double>(first.n - 1) +
                        share_b * share_b / static_cast<double>(second.n - 1));
  result.half = t_quantile(*result.degrees, confidence) * std::sqrt(variance);
  return result;
}

size_t IndexDraws::below(size_t n) {
  // Without the first 2^64 mod n numbers every remainder is equally frequent.
  const auto range = static_cast<uint64_t>(n);
  const uint64_t rejected = (uint64_t{0} - range) % range;
  uint64_t drawn = engine_();
  while (drawn < rejected) drawn = engine_();
  return static_cast<size_t>(drawn % range);
}

Interval percentile_interval(std::vector<double> values, double confidence) {
  check_confidence(confidence);
  const auto sorted = sorted_copy(std::move(values));
  return {quantile_of_sorted(sorted, 0.5 - confidence / 2),
          quantile_of_sorted(sorted, 0.5 + confidence / 2)};
}

}  // namespace approx
