// The statistics behind every table; docs/internals/statistics.md says which of them answers which
// question, and why. They are plain functions of samples. Intervals are two-sided 95 % unless said
// otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "base/enum_text.h"

namespace approx {

inline constexpr double kConfidence = 0.95;

// Throws Error(kInternal) with the text `what` unless `holds`.
void require(bool holds, const char* what);

// Summary of independent samples. sd and half exist from two samples on, since one value has no
// spread.
struct Summary {
  int64_t n = 0;
  double mean = 0;             // 0 when n is 0
  std::optional<double> sd;    // with n - 1
  std::optional<double> half;  // half width of the t-interval of the mean
};

// Throws Error(kInternal) for a value that is not finite.
Summary summarize(std::span<const double> values, double confidence = kConfidence);

// Student's t: the two-sided quantile for `confidence`, with `degrees` >= 1 degrees of freedom.
double t_quantile(double degrees, double confidence = kConfidence);

// Summary of the differences of pairs (method against dense with the same seed).
struct PairedDifference : Summary {
  // Two-sided p-value of the exact sign-flip test: the share of the 2^n sign patterns whose mean is
  // at least as far from zero. None for n < 2 or n > 20 (too many patterns).
  std::optional<double> p;
};

PairedDifference paired_difference(std::span<const double> differences,
                                   double confidence = kConfidence);

// Holm's step-down adjustment of the p-values of one family (a table), in their order. Each
// adjusted value is then compared with the level of the whole family.
std::vector<double> holm(const std::vector<double>& p);

// Holm's adjustment where some declared tests of the family have not been made. These have no p;
// each counts as 1, so that the adjustment does not get stricter as the family is completed.
std::vector<std::optional<double>> holm_of_declared(const std::vector<std::optional<double>>& p);

// The least n with tests * 2 / 2^n < level; 0 for no tests. With n pairs, a sign-flip test can have
// the smallest p of a family of `tests` below `level` after Holm's adjustment.
int64_t pairs_for_holm(int64_t tests, double level = 1 - kConfidence);

// A ratio of times with its interval. It is computed on logarithms, so that "twice as fast" and
// "twice as slow" are equally far from 1.
struct Ratio {
  int64_t n = 0;  // size of the sample: pairs, or processes
  double ratio = 1;
  std::optional<double> lo, hi;

  // The ends of the interval; without one, the estimate.
  double least() const { return lo.value_or(ratio); }
  double most() const { return hi.value_or(ratio); }
};

// The mean of log-ratios of pairs of positive times: numerator[i] / denominator[i].
Ratio ratio_of_pairs(std::span<const double> numerator, std::span<const double> denominator,
                     double confidence = kConfidence);

// The mean log-ratio of every two neighbouring pairs, in their order. The last of an odd number
// stands alone.
std::vector<double> logs_of_mirrored(std::span<const double> numerator,
                                     std::span<const double> denominator);

// The pseudo-median of a sample (Hodges and Lehmann 1963), with its interval by Wilcoxon's signed
// ranks. It is the median of the means of every two values. The interval is right for any symmetric
// distribution. Rare outliers do not widen it, as they do a t-interval. There is no interval of
// fewer than six values for 95 %.
// Throws Error(kInternal) for a value that is not finite and for no values.
struct PseudoMedian {
  double middle = 0;
  std::optional<double> lo, hi;
};
PseudoMedian pseudo_median(std::span<const double> values, double confidence = kConfidence);

// The ratio from the log-ratios of mirrored pairs (logs_of_mirrored). From six on it is the
// pseudo-median with its interval, below that the mean with its t-interval. n is the size of
// `logs`.
Ratio ratio_of_mirrored_logs(std::span<const double> logs, double confidence = kConfidence);

// The ratio of mirrored pairs: every two neighbours were measured in opposite orders. A gain by the
// place in one pair is taken back by the other. Over single pairs that gain would count as spread,
// and the interval would be too wide. Fewer than kPairsToMirror pairs are taken as ratio_of_pairs()
// does. n is the number of pairs.
Ratio ratio_of_mirrored(std::span<const double> numerator, std::span<const double> denominator,
                        double confidence = kConfidence);
inline constexpr int64_t kPairsToMirror = 4;

// The mean of log-ratios, as ratio_of_pairs() computes it.
Ratio ratio_of_logs(std::span<const double> log_ratios, double confidence = kConfidence);

// The ratio of step times from timing runs: one group of log-ratios per process, one log-ratio per
// pair of blocks. Estimate and interval are those of the processes' means. One process has no
// interval, however many pairs it has: two processes of one program on one machine may differ by
// some percent. Empty groups are left out.
Ratio ratio_of_processes(const std::vector<std::vector<double>>& log_ratios,
                         double confidence = kConfidence);

// The quotient a / b of two independently measured ratios, such as two speedups over one step. On
// logarithms the half widths add as squares, each side separately. n is the smaller one: 0 without
// both. There is no interval unless both have one.
Ratio ratio_of_ratios(const Ratio& a, const Ratio& b);

// The least number of processes of a timing, and of a timing on which a verdict rests.
inline constexpr int64_t kProcessesForATiming = 5;
inline constexpr int64_t kProcessesForAVerdict = 10;

// The least number of seeds for a verdict on accuracy. Fewer can never show a difference at 5 %
// (sign-flip test).
inline constexpr int64_t kSeedsForAVerdict = 6;

// The share of the saved work that became saved time: (1 - 1 / speedup) / saved. Here `saved` is
// the share of the multiply-accumulates that is left out. The value is 1 where time falls as work
// does, 0 where work is saved and no time, and below 0 where the saving costs time. The interval is
// the speedup's, since work is counted exactly.
struct Realisation {
  int64_t n = 0;  // of the speedup
  double value = 0;
  std::optional<double> lo, hi;
};

// The realisation of a speedup. None without a speedup, and where no work is saved.
std::optional<Realisation> realisation(const Ratio& speedup, double saved);

// Smaller effects on time get no verdict. For a ratio from one process each the limit is larger,
// whatever its interval says (docs/internals/statistics.md).
inline constexpr double kLeastEffect = 0.02;
inline constexpr double kLeastEffectOfOneProcess = 0.04;

enum class SpeedChange { kFaster, kSlower, kSame, kUndecided };

// The verdict of an interval on a ratio that is above 1 where the new side is faster. Faster or
// slower: the whole interval is on one side of 1, and the ratio is at least `least` away from 1.
// The same: the whole interval is within `least` of 1. Undecided otherwise, and for a ratio without
// an interval.
SpeedChange speed_change(const Ratio& ratio, double least = kLeastEffect);

// Counts of false verdicts among ratios of a thing to itself.
struct FalseVerdicts {
  int64_t n = 0;            // ratios
  int64_t false_ones = 0;   // called faster or slower, although neither is true
  int64_t without_one = 0;  // intervals that exclude 1, however close to 1 they are

  // Whether there are no more false ones than the confidence of an interval allows.
  bool passed() const;
};

// Counts false verdicts. Each of `ratios` compares a thing with itself, measured anew, so that
// every "faster" and "slower" is false.
FalseVerdicts false_verdicts(std::span<const Ratio> ratios, double least = kLeastEffect);

// The quantile of `values` at `q` in [0, 1], by linear interpolation between order statistics (type
// 7 of Hyndman and Fan 1996: at (n - 1) q). Throws Error(kInternal) for no values.
double quantile(std::vector<double> values, double q);

struct Quartiles {
  double q1 = 0, median = 0, q3 = 0;
};

Quartiles quartiles(std::vector<double> values);

struct Interval {
  double lo = 0, hi = 0;
};

// Wilson's score interval of the share successes / n (Wilson 1927; method 3 of Newcombe 1998). It
// stays inside [0, 1] and is not empty where none or all succeeded. [0, 1] for n = 0.
// Throws Error(kInternal) unless 0 <= successes <= n and 0 < confidence < 1.
Interval wilson_interval(int64_t successes, int64_t n, double confidence = kConfidence);

// Whether a method is worse than its reference by no more than a margin.
enum class NonInferiority { kNonInferior, kInferior, kInconclusive };

constexpr auto enum_texts(NonInferiority) {
  return std::to_array<EnumText<NonInferiority>>({{NonInferiority::kNonInferior, "NON-INFERIOR"},
                                                  {NonInferiority::kInferior, "INFERIOR"},
                                                  {NonInferiority::kInconclusive, "INCONCLUSIVE"}});
}

struct NonInferiorityTest {
  int64_t n = 0;
  double mean = 0;                     // mean loss; 0 when n is 0
  std::optional<double> lower, upper;  // one-sided bounds of `mean`, from two differences on
  NonInferiority verdict = NonInferiority::kInconclusive;
};

// Tests paired differences in the unit of the margin (such as percentage points), positive where
// the method is worse. Not inferior: the upper one-sided t bound of the mean is below the margin.
// Inferior: the lower bound is above it. Inconclusive otherwise, and with fewer than two
// differences. Each bound alone has `confidence`: both together are a 90 % interval.
// Throws Error(kInternal) for a value that is not finite or a margin below 0.
NonInferiorityTest non_inferiority(std::span<const double> losses, double margin,
                                   double confidence = kConfidence);

// Whether an interval shows that a number agrees with a reference number.
enum class Agreement { kAgrees, kDiffers, kUnresolved };

// Agrees if all of [lo, hi] is within reference +- tolerance. Differs if none of it is. Unresolved
// where the interval crosses a border. The borders themselves are within. An interval of one value
// is never unresolved: add its spread first.
// Throws Error(kInternal) for a number that is not finite, lo > hi or a tolerance below 0.
Agreement agreement(double lo, double hi, double reference, double tolerance);

// The difference of the means of two independent samples, a minus b.
struct WelchDifference {
  int64_t n_a = 0, n_b = 0;
  double difference = 0;          // 0 when a sample is empty
  std::optional<double> degrees;  // of freedom, Welch and Satterthwaite's
  std::optional<double> half;     // half width of the t-interval
};

// The difference of two means by Welch's method; spreads may differ. Degrees and interval exist if
// both samples have at least two values. Two samples without any spread have n_a + n_b - 2 degrees
// and a half width of 0.
// Throws Error(kInternal) for a value that is not finite.
WelchDifference welch_difference(std::span<const double> a, std::span<const double> b,
                                 double confidence = kConfidence);

// Uniform draws for resampling, equal on every machine. The standard fixes the engine's numbers but
// not the algorithms of its distributions, so those are not used.
class IndexDraws {
 public:
  explicit IndexDraws(uint64_t seed) : engine_(seed) {}

  // Draws one of 0 ... n - 1; n >= 1.
  size_t below(size_t n);

 private:
  std::mt19937_64 engine_;
};

// The middle `confidence` of resampled values, by `quantile`.
// Throws Error(kInternal) for no values and unless 0 < confidence < 1.
Interval percentile_interval(std::vector<double> values, double confidence = kConfidence);

}  // namespace approx
