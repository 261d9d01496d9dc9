// The statistics behind every table (docs/internals/statistics.md says which answers what question,
// and why). Plain functions of samples; intervals are two-sided 95 % unless said otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace approx {

inline constexpr double kConfidence = 0.95;

// Throws Error(kInternal) that says `what` unless it holds.
void require(bool holds, const char* what);

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

// Holm's adjustment where some tests of the family were declared and not made. These have no p: it
// counts as 1, so that the adjustment does not get stricter as more of the family is finished.
std::vector<std::optional<double>> holm_of_declared(const std::vector<std::optional<double>>& p);

// How many pairs the sign-flip test needs so that the smallest p of a family of `tests` can be
// below `level` after Holm's adjustment: the smallest n with tests * 2 / 2^n < level. 0 for no
// tests.
int64_t pairs_for_holm(int64_t tests, double level = 1 - kConfidence);

// A ratio of times with its interval, computed on logarithms, so that "twice as fast" and "twice as
// slow" are equally far from 1.
struct Ratio {
  int64_t n = 0;  // what the interval is over: pairs, or processes
  double ratio = 1;
  std::optional<double> lo, hi;

  // The ends of the interval; without one, the estimate.
  double least() const { return lo.value_or(ratio); }
  double most() const { return hi.value_or(ratio); }
};

// The mean of log-ratios of pairs of positive times: numerator[i] / denominator[i].
Ratio ratio_of_pairs(std::span<const double> numerator, std::span<const double> denominator,
                     double confidence = kConfidence);

// The same from log-ratios.
Ratio ratio_of_logs(std::span<const double> log_ratios, double confidence = kConfidence);

// The ratio of step times from timing runs: a group of log-ratios for each process, one of each of
// its pairs of blocks. Estimate and interval are those of the processes' means. One process has no
// interval, for a thousand pairs of blocks do not know how processes differ: two of one program on
// one machine lie some per cent apart. Empty groups are left out.
Ratio ratio_of_processes(const std::vector<std::vector<double>>& log_ratios,
                         double confidence = kConfidence);

// a / b of two ratios measured independently, such as two speedups over the same step: on
// logarithms the half widths add as squares, each side by itself. n is the smaller one: 0 without
// both; no interval without both.
Ratio ratio_of_ratios(const Ratio& a, const Ratio& b);

// A timing is at least so many processes, and so many where a verdict rests on it.
inline constexpr int64_t kProcessesForATiming = 5;
inline constexpr int64_t kProcessesForAVerdict = 10;

// So many seeds where a verdict on accuracy rests on them: fewer can never show a difference at 5 %
// (sign-flip test).
inline constexpr int64_t kSeedsForAVerdict = 6;

// How much of a saving of work becomes a saving of time: (1 - 1 / speedup) / saved, `saved` being
// the share of the multiply-accumulates that is left out. 1 where time falls as work does, 0 where
// work is saved and no time, below 0 where the saving costs time. The interval is the speedup's,
// since work is counted.
struct Realisation {
  int64_t n = 0;  // of the speedup
  double value = 0;
  std::optional<double> lo, hi;
};

// None without a speedup, and where nothing is saved.
std::optional<Realisation> realisation(const Ratio& speedup, double saved);

// Smaller effects on time are not worth a verdict; those of ratios from one process each are no
// evidence, whatever their intervals say (docs/internals/statistics.md).
inline constexpr double kLeastEffect = 0.02;
inline constexpr double kLeastEffectOfOneProcess = 0.04;

enum class SpeedChange { kFaster, kSlower, kSame, kUndecided };

// What an interval says of a ratio, above 1 where the new one is faster: faster or slower where all
// of it lies beyond 1 and the ratio is `least` away or more, the same where all of it lies within
// `least`, else undecided; so is a ratio without an interval.
SpeedChange speed_change(const Ratio& ratio, double least = kLeastEffect);

// What the verdicts on ratios are worth, told by ratios of a thing to itself.
struct FalseVerdicts {
  int64_t n = 0;            // ratios
  int64_t false_ones = 0;   // said to be faster or slower, of what is neither
  int64_t without_one = 0;  // whose interval leaves 1 out, however near it is

  // No more false ones than the confidence of an interval allows.
  bool passed() const;
};

// `ratios`: of a thing to itself, each measured anew, so that every "faster" and "slower" is false.
FalseVerdicts false_verdicts(std::span<const Ratio> ratios);

// Linear interpolation between order statistics at (n - 1) q (type 7 of Hyndman and Fan 1996).
// Throws Error(kInternal) for no values; q in [0, 1].
double quantile(std::vector<double> values, double q);

struct Quartiles {
  double q1 = 0, median = 0, q3 = 0;
};

Quartiles quartiles(std::vector<double> values);

struct Interval {
  double lo = 0, hi = 0;
};

// The share successes / n with Wilson's score interval (Wilson 1927; method 3 of Newcombe 1998),
// which stays inside [0, 1] and is not empty where none or all succeeded. [0, 1] for n = 0.
// Throws Error(kInternal) unless 0 <= successes <= n and 0 < confidence < 1.
Interval wilson_interval(int64_t successes, int64_t n, double confidence = kConfidence);

// Whether a method is worse than its reference by no more than a margin.
enum class NonInferiority { kNonInferior, kInferior, kInconclusive };

struct NonInferiorityTest {
  int64_t n = 0;
  double mean = 0;                     // mean loss; 0 when n is 0
  std::optional<double> lower, upper;  // its one-sided bounds, from two differences on
  NonInferiority verdict = NonInferiority::kInconclusive;
};

// Paired differences in the unit of the margin (percentage points, say), positive where the method
// is worse. Not inferior when the upper one-sided t bound of the mean lies below the margin,
// inferior when the lower one lies above it, else inconclusive; so are fewer than two differences.
// Each bound holds with `confidence` by itself: both together are a 90 % interval.
// Throws Error(kInternal) for a value that is not finite or a margin below 0.
NonInferiorityTest non_inferiority(std::span<const double> losses, double margin,
                                   double confidence = kConfidence);

// Whether an interval shows that a number is what somebody else found.
enum class Agreement { kAgrees, kDiffers, kUnresolved };

// Agrees when all of [lo, hi] lies within reference +- tolerance, differs when none of it does,
// is unresolved where it crosses a border. The borders themselves are within. An interval that is
// one value cannot be unresolved: give it its spread first.
// Throws Error(kInternal) for a number that is not finite, lo > hi or a tolerance below 0.
Agreement agreement(double lo, double hi, double reference, double tolerance);

// The difference of the means of two independent samples, a minus b.
struct WelchDifference {
  int64_t n_a = 0, n_b = 0;
  double difference = 0;          // 0 when a sample is empty
  std::optional<double> degrees;  // of freedom, Welch and Satterthwaite's
  std::optional<double> half;     // half width of the t-interval
};

// Spreads may differ. Degrees and interval exist when both samples have two values; two samples
// without any spread have n_a + n_b - 2 degrees and a half width of 0.
// Throws Error(kInternal) for a value that is not finite.
WelchDifference welch_difference(std::span<const double> a, std::span<const double> b,
                                 double confidence = kConfidence);

// Uniform draws for resampling, the same on every machine: the standard fixes the engine's numbers
// but not what its distributions make of them, so those are not used.
class IndexDraws {
 public:
  explicit IndexDraws(uint64_t seed) : engine_(seed) {}

  // One of 0 ... n - 1, n >= 1.
  size_t below(size_t n);

 private:
  std::mt19937_64 engine_;
};

// The middle `confidence` of resampled values, by `quantile`.
// Throws Error(kInternal) for no values and unless 0 < confidence < 1.
Interval percentile_interval(std::vector<double> values, double confidence = kConfidence);

}  // namespace approx
