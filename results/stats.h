// The statistics behind every table (docs/statistics.md says which answers what question, and why).
// Plain functions of samples; intervals are two-sided 95 % unless said otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace approx {

inline constexpr double kConfidence = 0.95;

// Summary of independent samples. sd and half exist from two samples on: one value says nothing
// about spread.
struct Summary {
  int64_t n = 0;
  double mean = 0;             // 0 when n is 0
  std::optional<double> sd;    // with n - 1
  std::optional<double> half;  // half width of the t-interval of the mean
};

// Throws Error(kInternal) for a value that is not finite.
Summary summarize(std::span<const double> values, double confidence = kConfidence);

// Student's t: the quantile that `confidence` of the distribution lies within, two-sided.
// degrees >= 1.
double t_quantile(double degrees, double confidence = kConfidence);

// Differences of pairs (method against dense with the same seed).
struct PairedDifference : Summary {
  // Two-sided p-value of the exact sign-flip test: the share of the 2^n ways of flipping signs
  // whose mean is at least as far from zero. None for n < 2 or n > 20 (too many to go through).
  std::optional<double> p;
};

PairedDifference paired_difference(std::span<const double> differences,
                                   double confidence = kConfidence);

// Holm's step-down adjustment of the p-values of one family (a table), in their order: each is then
// compared with the level of the whole family.
std::vector<double> holm(const std::vector<double>& p);

// A ratio of times with its interval, computed on logarithms, so that "twice as fast" and "twice as
// slow" are equally far from 1.
struct Ratio {
  int64_t n = 0;  // pairs
  double ratio = 1;
  std::optional<double> lo, hi;
};

// The mean of log-ratios of pairs of positive times: numerator[i] / denominator[i].
Ratio ratio_of_pairs(std::span<const double> numerator, std::span<const double> denominator,
                     double confidence = kConfidence);

// The same from log-ratios in groups (the block pairs of several runs). The estimate is the mean of
// the groups' means. With one group its interval is that of its pairs; with more it is the wider of
// two: from the spread inside the groups, and from the spread between their means, since two runs
// on one machine may agree by chance, and a thousand pairs of one run do not know how runs differ.
// Empty groups are left out.
Ratio ratio_of_groups(const std::vector<std::vector<double>>& log_ratios,
                      double confidence = kConfidence);

// Linear interpolation between order statistics at (n - 1) q (type 7 of Hyndman and Fan 1996).
// Throws Error(kInternal) for no values; q in [0, 1].
double quantile(std::vector<double> values, double q);

struct Quartiles {
  double q1 = 0, median = 0, q3 = 0;
};

Quartiles quartiles(std::vector<double> values);

}  // namespace approx
