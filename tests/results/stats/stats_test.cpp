#include "results/stats/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"

namespace approx {
namespace {

// Two-sided 95 % points of Student's t as printed in every table of it (e.g. NIST/SEMATECH
// e-Handbook of Statistical Methods, 1.3.6.7.2, column 0.975).
TEST(Stats, TQuantileIsThatOfThePrintedTables) {
  EXPECT_NEAR(t_quantile(1), 12.706, 5e-4);
  EXPECT_NEAR(t_quantile(2), 4.303, 5e-4);
  EXPECT_NEAR(t_quantile(9), 2.262, 5e-4);
  EXPECT_NEAR(t_quantile(30), 2.042, 5e-4);
  EXPECT_NEAR(t_quantile(9, 0.90), 1.833, 5e-4);  // column 0.95
}

// By hand: 2,4,4,4,5,5,7,9 has mean 5 and squares about it 32; sd = sqrt(32/7) = 2.13809,
// t(7) = 2.3646, half = 2.3646 * 2.13809 / sqrt(8) = 1.78747.
TEST(Stats, SummaryOfEightValues) {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  const auto summary = summarize(values);
  EXPECT_EQ(summary.n, 8);
  EXPECT_DOUBLE_EQ(summary.mean, 5);
  EXPECT_NEAR(*summary.sd, 2.13809, 1e-5);
  EXPECT_NEAR(*summary.half, 1.78747, 1e-4);
}

// NIST e-Handbook 1.3.5.2, confidence limits for the mean, data set ZARR13: N = 195, mean
// 9.261460, standard deviation 0.022789, limits 9.258242 and 9.264679: half 0.003218 with
// t(194) = 1.9723. Samples of that mean and standard deviation have that interval.
TEST(Stats, IntervalOfNistZarr13) {
  const double n = 195, mean = 9.261460, sd = 0.022789;
  // 97 pairs mean +- d and the mean itself: squares 2 * 97 d^2 = (n - 1) sd^2, d = sd.
  std::vector<double> values = {mean};
  for (int i = 0; i < 97; ++i) {
    values.push_back(mean + sd);
    values.push_back(mean - sd);
  }
  const auto summary = summarize(values);
  ASSERT_EQ(summary.n, n);
  EXPECT_NEAR(*summary.sd, 0.022789, 1e-6);
  EXPECT_NEAR(summary.mean - *summary.half, 9.258242, 1e-6);
  EXPECT_NEAR(summary.mean + *summary.half, 9.264679, 1e-6);
}

// By hand: ratios 2, 8 | 1, 4 | 2 have the mean logarithms 2 ln 2, ln 2 and ln 2 by two.
// The mean of those is 4/3 ln 2, their sd ln 2 / sqrt(3), and t(2) = 4.3027 makes a half width of
// 4.3027 / 3 ln 2.
TEST(Stats, AMirroredRatioIsOverTwoPairsEach) {
  const std::vector<double> numerator = {2, 16, 3, 4, 2}, denominator = {1, 2, 3, 1, 1};
  const auto logs = logs_of_mirrored(numerator, denominator);
  ASSERT_EQ(logs.size(), 3u);
  EXPECT_DOUBLE_EQ(logs[0], 2 * std::log(2));
  EXPECT_DOUBLE_EQ(logs[1], std::log(2));
  EXPECT_DOUBLE_EQ(logs[2], std::log(2));
  const auto ratio = ratio_of_mirrored(numerator, denominator);
  EXPECT_EQ(ratio.n, 5) << "pairs";
  EXPECT_NEAR(ratio.ratio, std::exp2(4.0 / 3), 1e-12);
  EXPECT_NEAR(*ratio.lo, std::exp2(4.0 / 3 - 4.302653 / 3), 1e-6);
  EXPECT_NEAR(*ratio.hi, std::exp2(4.0 / 3 + 4.302653 / 3), 1e-5);
}

TEST(Stats, FewPairsAreNotMirrored) {
  const std::vector<double> numerator = {2, 4, 8}, denominator = {1, 1, 1};
  const auto mirrored = ratio_of_mirrored(numerator, denominator);
  const auto pairs = ratio_of_pairs(numerator, denominator);
  EXPECT_EQ(mirrored.n, 3);
  EXPECT_EQ(mirrored.lo, pairs.lo);
  EXPECT_EQ(mirrored.hi, pairs.hi);
  EXPECT_THROW(ratio_of_mirrored(numerator, {}), Error);
  EXPECT_EQ(ratio_of_mirrored({}, {}).n, 0);
}

// Hollander and Wolfe (1973), p. 29: depression scores before and after a tranquilizer, nine
// patients. R's wilcox.test(before, after, paired = TRUE, conf.int = TRUE) prints a pseudo-median
// of 0.46 with the 95 % interval 0.010 to 0.786.
TEST(Stats, PseudoMedianOfDepressionScores) {
  const std::vector<double> before = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const std::vector<double> after = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  std::vector<double> change;
  for (size_t i = 0; i < before.size(); ++i) change.push_back(before[i] - after[i]);
  const auto result = pseudo_median(change);
  EXPECT_NEAR(result.middle, 0.46, 5e-3);
  EXPECT_NEAR(*result.lo, 0.010, 5e-4);
  EXPECT_NEAR(*result.hi, 0.786, 5e-4);
}

// The interval of six values reaches from the least to the greatest: 2/64 lie outside. Five values
// have none, for 2/32 is above 5 %.
TEST(Stats, SixValuesHaveAnIntervalBySignedRanks) {
  const auto six = pseudo_median(std::vector<double>{3, 1, 2, 6, 5, 4});
  EXPECT_DOUBLE_EQ(six.middle, 3.5);
  EXPECT_EQ(six.lo, 1);
  EXPECT_EQ(six.hi, 6);
  EXPECT_FALSE(pseudo_median(std::vector<double>{3, 1, 2, 5, 4}).lo);
  EXPECT_THROW(pseudo_median({}), Error);
  EXPECT_THROW(pseudo_median(std::vector<double>{NAN}), Error);
  // Far beyond 50 values ranks are taken for normal: 0 is within, and the ends are near.
  std::vector<double> many;
  for (int i = -60; i <= 60; ++i) many.push_back(i);
  const auto wide = pseudo_median(many);
  EXPECT_NEAR(wide.middle, 0, 1e-12);
  EXPECT_NEAR(*wide.lo, -*wide.hi, 1e-12);
  EXPECT_NEAR(*wide.hi, 1.96 * 35 / 11, 0.5) << "of a uniform sample of sd 35 nearly a mean's";
}

// One of twelve times is disturbed: the ratio does not follow it.
TEST(Stats, AnOutlierDoesNotMoveAMirroredRatio) {
  std::vector<double> first(12, 1.0), second(12, 1.0);
  first[0] = 2, first[4] = 1.02, second[6] = 1.02, first[8] = 1.01, second[10] = 1.01;
  const auto mirrored = ratio_of_mirrored(first, second);
  EXPECT_LT(mirrored.ratio, 1.01);
  EXPECT_EQ(mirrored.n, 12);
}

// What comes second takes a tenth longer: single pairs spread, mirrored ones do not.
TEST(Stats, WhatAPlaceIsWorthIsNoSpreadOfMirroredPairs) {
  const std::vector<double> first = {1, 1.1, 1.1, 1}, second = {1.1, 1, 1, 1.1};
  const auto mirrored = ratio_of_mirrored(first, second);
  EXPECT_NEAR(mirrored.ratio, 1, 1e-12);
  EXPECT_NEAR(*mirrored.hi - *mirrored.lo, 0, 1e-12);
  EXPECT_GT(*ratio_of_pairs(first, second).hi, 1.1);
}

TEST(Stats, OneValueHasNoSpreadAndNoneHasNothing) {
  const std::vector<double> one = {3.5};
  EXPECT_EQ(summarize(one).n, 1);
  EXPECT_DOUBLE_EQ(summarize(one).mean, 3.5);
  EXPECT_FALSE(summarize(one).sd);
  EXPECT_FALSE(summarize(one).half);
  EXPECT_EQ(summarize({}).n, 0);
  EXPECT_FALSE(paired_difference(one).p);
  EXPECT_FALSE(ratio_of_logs({}).lo);
  EXPECT_EQ(ratio_of_processes({{}, {}}).n, 0);
  EXPECT_DOUBLE_EQ(ratio_of_processes({{}, {}}).ratio, 1);
}

TEST(Stats, AValueThatIsNotFiniteIsRefused) {
  const std::vector<double> values = {1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THROW(summarize(values), Error);
  const std::vector<double> one = {1}, zero = {0};
  EXPECT_THROW(ratio_of_pairs(one, zero), Error);
  EXPECT_THROW(ratio_of_pairs(values, one), Error);
  EXPECT_THROW(quantile({}, 0.5), Error);
}

// Darwin's maize (The effects of cross and self fertilisation, 1876; Fisher, The design of
// experiments, 1935, section 21): 15 differences in eighths of an inch. Fisher counts 863 of the
// 32,768 sign patterns with a sum of at least 314 on one side: two-sided 1726 / 32768 = 0.05267.
// Fisher's mean is 20.933 and t = 2.148 with 14 degrees of freedom.
TEST(Stats, SignFlipOfDarwinsMaize) {
  const std::vector<double> differences = {49, -67, 8,  16, 6,  23, 28, 41,
                                           14, 29,  56, 24, 75, 60, -48};
  const auto result = paired_difference(differences);
  EXPECT_NEAR(result.mean, 20.933, 1e-3);
  EXPECT_NEAR(result.mean / (*result.sd / std::sqrt(15.0)), 2.148, 1e-3);
  ASSERT_TRUE(result.p);
  EXPECT_DOUBLE_EQ(*result.p, 1726.0 / 32768.0);
}

// n differences of one sign are the two most extreme of 2^n patterns.
TEST(Stats, SmallestPossiblePOfTheSignFlipTest) {
  EXPECT_DOUBLE_EQ(*paired_difference(std::vector<double>{1, 2, 3, 4, 5}).p, 0.0625);
  EXPECT_DOUBLE_EQ(*paired_difference(std::vector<double>{.1, .2, .3, .4, .5, .6}).p, 0.03125);
  EXPECT_DOUBLE_EQ(*paired_difference(std::vector<double>(8, 0.1)).p, 0.0078125);
  EXPECT_DOUBLE_EQ(*paired_difference(std::vector<double>(3, 0.0)).p, 1);
}

TEST(Stats, TooManyPairsHaveAnIntervalAndNoP) {
  const auto result = paired_difference(std::vector<double>(21, 1.0));
  EXPECT_FALSE(result.p);
  EXPECT_TRUE(result.half);
}

// R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") prints 0.03 0.06 0.06 0.02.
TEST(Stats, HolmIsThatOfR) {
  const auto adjusted = holm({0.01, 0.04, 0.03, 0.005});
  const std::vector<double> expected = {0.03, 0.06, 0.06, 0.02};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12);
  EXPECT_EQ(holm({0.9, 0.8}), (std::vector<double>{1, 1}));
  EXPECT_TRUE(holm({}).empty());
  EXPECT_EQ(holm_of_declared({0.01, std::nullopt, 0.25}),
            (std::vector<std::optional<double>>{0.03, std::nullopt, 0.5}))
      << "a test that was declared and not made counts";
}

// 2 / 2^6 = 0.031 and 2 / 2^5 = 0.063; of twelve rows 24 / 2^9 = 0.047 and 24 / 2^8 = 0.094.
TEST(Stats, PairsThatAHolmCorrectionNeeds) {
  EXPECT_EQ(pairs_for_holm(0), 0);
  EXPECT_EQ(pairs_for_holm(1), 6);
  EXPECT_EQ(pairs_for_holm(2), 7);
  EXPECT_EQ(pairs_for_holm(12), 9);
  EXPECT_EQ(pairs_for_holm(1, 0.5), 3) << "0.5 itself is not below 0.5";
}

// By hand: ratios 2, 2, 8 have logs ln 2 * (1, 1, 3): mean 5/3 ln 2, so the ratio is 2^(5/3);
// sd = ln 2 * sqrt(4/3), half = 4.30265 * sd / sqrt(3) = ln 2 * 2.868435.
TEST(Stats, RatioOfPairs) {
  const std::vector<double> numerator = {2, 4, 8}, denominator = {1, 2, 1};
  const auto ratio = ratio_of_pairs(numerator, denominator);
  EXPECT_EQ(ratio.n, 3);
  EXPECT_NEAR(ratio.ratio, std::exp2(5.0 / 3), 1e-12);
  EXPECT_NEAR(*ratio.lo, std::exp2(5.0 / 3 - 2.868435), 1e-5);
  EXPECT_NEAR(*ratio.hi, std::exp2(5.0 / 3 + 2.868435), 1e-4);

  const auto inverse = ratio_of_pairs(denominator, numerator);
  EXPECT_NEAR(inverse.ratio * ratio.ratio, 1, 1e-12);
  EXPECT_NEAR(*inverse.lo * *ratio.hi, 1, 1e-12);
}

// Any number of pairs of blocks in one process says nothing of how processes differ.
TEST(Stats, ATimingOfOneProcessHasNoInterval) {
  const auto one = ratio_of_processes({{0.1, 0.1, 0.4}, {}});
  EXPECT_EQ(one.n, 1);
  EXPECT_NEAR(std::log(one.ratio), 0.2, 1e-12);
  EXPECT_FALSE(one.lo);
  EXPECT_FALSE(one.hi);
}

// By hand: means 0.1, 0.3, 0.2 of processes with one, two and three pairs: mean 0.2, sd 0.1, half =
// t(2) * 0.1 / sqrt(3) = 4.302653 * 0.0577350 = 0.248414. How far the pairs of a process lie apart
// does not matter.
TEST(Stats, TheIntervalOfATimingIsOverItsProcesses) {
  const auto ratio = ratio_of_processes({{0.1}, {-1.0, 1.6}, {0.1, 0.2, 0.3}});
  EXPECT_EQ(ratio.n, 3);
  EXPECT_NEAR(std::log(ratio.ratio), 0.2, 1e-12);
  EXPECT_NEAR(std::log(*ratio.hi) - 0.2, 0.248414, 1e-6);
  EXPECT_NEAR(std::log(*ratio.lo) - 0.2, -0.248414, 1e-6);
}

// 1.25 times as fast saves a fifth of the time; of two fifths of the work that is a half.
TEST(Stats, RealisationIsTimeSavedOverWorkSaved) {
  const auto half = realisation({.n = 5, .ratio = 1.25, .lo = 1, .hi = 5.0 / 3}, 0.4);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->n, 5);
  EXPECT_NEAR(half->value, 0.5, 1e-12);
  EXPECT_NEAR(*half->lo, 0, 1e-12);
  EXPECT_NEAR(*half->hi, 1, 1e-12);
  EXPECT_NEAR(realisation({.n = 1, .ratio = 0.8, .lo = {}, .hi = {}}, 0.5)->value, -0.5, 1e-12)
      << "it costs half of what it should save";
  EXPECT_FALSE(realisation({.n = 1, .ratio = 0.8, .lo = {}, .hi = {}}, 0.5)->lo);
  EXPECT_FALSE(realisation({.n = 5, .ratio = 1.25, .lo = {}, .hi = {}}, 0)) << "nothing is saved";
  EXPECT_FALSE(realisation({}, 0.4));
}

// R's default, type 7: quantile(c(1,2,3,4), c(.25,.5,.75)) prints 1.75 2.50 3.25.
TEST(Stats, QuartilesAreThoseOfR) {
  const auto result = quartiles({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(result.q1, 1.75);
  EXPECT_DOUBLE_EQ(result.median, 2.5);
  EXPECT_DOUBLE_EQ(result.q3, 3.25);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(quantile({1, 9}, 1), 9);
}

// By hand: logarithms 3 +- 0.3 and 1 +- 0.4 leave 2 +- 0.5.
TEST(Ratio, OfTwoThatWereMeasuredApart) {
  const auto of_logs = [](double middle, double half) {
    return Ratio{5, std::exp(middle), std::exp(middle - half), std::exp(middle + half)};
  };
  auto other = of_logs(1, 0.4);
  other.n = 7;
  const auto ratio = ratio_of_ratios(of_logs(3, 0.3), other);
  EXPECT_EQ(ratio.n, 5);
  EXPECT_NEAR(std::log(ratio.ratio), 2, 1e-12);
  EXPECT_NEAR(std::log(*ratio.lo), 1.5, 1e-12);
  EXPECT_NEAR(std::log(*ratio.hi), 2.5, 1e-12);
  const Ratio bare{1, 2, {}, {}};
  EXPECT_NEAR(ratio_of_ratios(of_logs(3, 0.3), bare).ratio, std::exp(3) / 2, 1e-12);
  EXPECT_FALSE(ratio_of_ratios(of_logs(3, 0.3), bare).lo);
  EXPECT_FALSE(ratio_of_ratios(bare, other).hi);
  EXPECT_EQ(ratio_of_ratios(Ratio(), other).n, 0);
}

// Newcombe (1998), Two-sided confidence intervals for the single proportion, Statistics in Medicine
// 17:857, table I, method 3 (score without continuity correction).
TEST(Wilson, IntervalsOfNewcombe) {
  const struct {
    int64_t successes, n;
    double lo, hi;
  } rows[] = {{81, 263, 0.2553, 0.3662},
              {15, 148, 0.0624, 0.1605},
              {0, 20, 0.0000, 0.1611},
              {1, 29, 0.0061, 0.1718}};
  for (const auto& row : rows) {
    const auto interval = wilson_interval(row.successes, row.n);
    EXPECT_NEAR(interval.lo, row.lo, 5e-5) << row.successes << " of " << row.n;
    EXPECT_NEAR(interval.hi, row.hi, 5e-5) << row.successes << " of " << row.n;
  }
}

TEST(Wilson, SuccessesAndFailuresMirrorEachOther) {
  for (int64_t successes = 0; successes <= 5; ++successes) {
    const auto interval = wilson_interval(successes, 5), mirror = wilson_interval(5 - successes, 5);
    EXPECT_NEAR(interval.lo, 1 - mirror.hi, 1e-12);
    EXPECT_LT(interval.lo, interval.hi);
  }
  EXPECT_EQ(wilson_interval(0, 5).lo, 0);
  EXPECT_EQ(wilson_interval(5, 5).hi, 1);
  EXPECT_LT(wilson_interval(3, 5, 0.9).hi, wilson_interval(3, 5).hi);
}

TEST(Wilson, NoTrialsSayNothingAndNonsenseIsRefused) {
  EXPECT_EQ(wilson_interval(0, 0).lo, 0);
  EXPECT_EQ(wilson_interval(0, 0).hi, 1);
  EXPECT_THROW(wilson_interval(2, 1), Error);
  EXPECT_THROW(wilson_interval(-1, 1), Error);
  EXPECT_THROW(wilson_interval(0, -1), Error);
  EXPECT_THROW(wilson_interval(1, 2, 1), Error);
  EXPECT_THROW(wilson_interval(1, 2, 0), Error);
}

// Extra hours of sleep with two drugs, ten patients (Student 1908; R's data set `sleep`).
const std::vector<double> kSleepFirst = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
const std::vector<double> kSleepSecond = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

// Their differences, second minus first: mean 1.58 and sd 1.229995 (Student's 1.58 and 1.17 with
// n in place of n - 1), so that the one-sided bounds are 1.58 -+ t(9; 0.95) * 1.229995 / sqrt(10)
// with t = 1.833113 from the printed tables: 0.86699 and 2.29301.
TEST(NonInferiority, MarginsAroundTheBoundsOfStudentsSleep) {
  std::vector<double> losses;
  for (size_t i = 0; i < kSleepFirst.size(); ++i)
    losses.push_back(kSleepSecond[i] - kSleepFirst[i]);
  const auto test = non_inferiority(losses, 2.3);
  EXPECT_EQ(test.n, 10);
  EXPECT_NEAR(test.mean, 1.58, 1e-12);
  EXPECT_NEAR(*test.lower, 0.86699, 1e-5);
  EXPECT_NEAR(*test.upper, 2.29301, 1e-5);
  EXPECT_EQ(test.verdict, NonInferiority::kNonInferior);
  EXPECT_EQ(non_inferiority(losses, 2.29).verdict, NonInferiority::kInconclusive);
  EXPECT_EQ(non_inferiority(losses, 0.87).verdict, NonInferiority::kInconclusive);
  EXPECT_EQ(non_inferiority(losses, 0.86).verdict, NonInferiority::kInferior);
  // More confidence asks for more: 1.58 + 2.821 * 1.229995 / sqrt(10) = 2.677.
  EXPECT_EQ(non_inferiority(losses, 2.3, 0.99).verdict, NonInferiority::kInconclusive);
  EXPECT_NEAR(*non_inferiority(losses, 2.3, 0.99).upper, 2.677, 1e-3);
}

TEST(NonInferiority, AGainIsNotInferiorAndOneValueIsInconclusive) {
  const std::vector<double> gains = {-0.3, -0.2, -0.4}, one = {-5};
  EXPECT_EQ(non_inferiority(gains, 0).verdict, NonInferiority::kNonInferior);
  EXPECT_EQ(non_inferiority(one, 1).verdict, NonInferiority::kInconclusive);
  EXPECT_FALSE(non_inferiority(one, 1).upper);
  EXPECT_EQ(non_inferiority({}, 1).verdict, NonInferiority::kInconclusive);
  EXPECT_EQ(non_inferiority({}, 1).n, 0);
}

TEST(NonInferiority, RefusesWhatIsNotAMarginOrNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> losses = {1, 2}, broken = {1, infinity};
  EXPECT_THROW(non_inferiority(losses, -0.1), Error);
  EXPECT_THROW(non_inferiority(losses, infinity), Error);
  EXPECT_THROW(non_inferiority(losses, std::numeric_limits<double>::quiet_NaN()), Error);
  EXPECT_THROW(non_inferiority(broken, 1), Error);
  EXPECT_THROW(non_inferiority(losses, 1, 1.5), Error);
}

// Around 10 +- 2; all numbers are exact in binary.
TEST(Agreement, InsideOutsideAndAcross) {
  EXPECT_EQ(agreement(9, 11, 10, 2), Agreement::kAgrees);
  EXPECT_EQ(agreement(8, 12, 10, 2), Agreement::kAgrees);  // borders are within
  EXPECT_EQ(agreement(7.75, 12, 10, 2), Agreement::kUnresolved);
  EXPECT_EQ(agreement(8, 12.25, 10, 2), Agreement::kUnresolved);
  EXPECT_EQ(agreement(5, 15, 10, 2), Agreement::kUnresolved);  // holds all of the tolerance
  EXPECT_EQ(agreement(12, 15, 10, 2), Agreement::kUnresolved);
  EXPECT_EQ(agreement(12.25, 15, 10, 2), Agreement::kDiffers);
  EXPECT_EQ(agreement(5, 7.75, 10, 2), Agreement::kDiffers);
  EXPECT_EQ(agreement(10, 10, 10, 0), Agreement::kAgrees);
  EXPECT_EQ(agreement(9, 11, 10, 0), Agreement::kUnresolved);
}

TEST(Agreement, RefusesWhatIsNotAnInterval) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(agreement(11, 9, 10, 2), Error);
  EXPECT_THROW(agreement(9, 11, 10, -1), Error);
  EXPECT_THROW(agreement(nan, 11, 10, 2), Error);
  EXPECT_THROW(agreement(9, nan, 10, 2), Error);
  EXPECT_THROW(agreement(9, 11, nan, 2), Error);
  EXPECT_THROW(agreement(9, 11, 10, nan), Error);
  EXPECT_THROW(agreement(9, std::numeric_limits<double>::infinity(), 10, 2), Error);
}

// R: t.test(extra ~ group, data = sleep) prints df = 17.776 and the interval -3.3654832 0.2054832.
TEST(Welch, IntervalOfRForStudentsSleep) {
  const auto result = welch_difference(kSleepFirst, kSleepSecond);
  EXPECT_EQ(result.n_a, 10);
  EXPECT_EQ(result.n_b, 10);
  EXPECT_NEAR(*result.degrees, 17.776, 5e-4);
  EXPECT_NEAR(result.difference - *result.half, -3.3654832, 5e-7);
  EXPECT_NEAR(result.difference + *result.half, 0.2054832, 5e-7);
}

// By hand, with unequal sizes: {0, 2} has variance 2, {0, 3, 6} has 9. Squared errors 1 and 3,
// degrees (1 + 3)^2 / (1 / 1 + 9 / 2) = 32 / 11, difference 1 - 3.
TEST(Welch, DegreesOfUnequalSamples) {
  const std::vector<double> a = {0, 2}, b = {0, 3, 6};
  const auto result = welch_difference(a, b);
  EXPECT_DOUBLE_EQ(result.difference, -2);
  EXPECT_NEAR(*result.degrees, 32.0 / 11, 1e-12);
  EXPECT_NEAR(*result.half, t_quantile(32.0 / 11) * 2, 1e-12);
}

TEST(Welch, SmallSamplesAndSamplesWithoutSpread) {
  const std::vector<double> one = {4}, two = {1, 1}, three = {3, 3, 3};
  EXPECT_DOUBLE_EQ(welch_difference(one, two).difference, 3);
  EXPECT_FALSE(welch_difference(one, two).half);
  EXPECT_FALSE(welch_difference(two, one).degrees);
  EXPECT_FALSE(welch_difference({}, two).half);
  EXPECT_EQ(welch_difference(two, {}).n_a, 2);
  EXPECT_DOUBLE_EQ(*welch_difference(two, three).degrees, 3);
  EXPECT_EQ(*welch_difference(two, three).half, 0);
  // One of them without spread leaves the degrees of the other.
  EXPECT_NEAR(*welch_difference(two, std::vector<double>{0, 3, 6}).degrees, 2, 1e-12);
  EXPECT_THROW(welch_difference(std::vector<double>{1, std::nan("")}, two), Error);
}

// From an implementation of MT19937-64 written apart from this one, held to the 10000th number
// that the C++ standard asks for.
TEST(IndexDraws, AreThoseOfTheStandardsEngine) {
  IndexDraws draws(1);
  const std::vector<size_t> expected = {8, 2, 0, 6, 4, 9, 8, 5, 8, 4, 6, 3};
  for (const size_t index : expected) EXPECT_EQ(draws.below(10), index);
  EXPECT_EQ(draws.below(1), 0u);
}

TEST(PercentileInterval, IsTheMiddleOfTheValues) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  EXPECT_NEAR(percentile_interval(values).lo, 2.5, 1e-12);
  EXPECT_NEAR(percentile_interval(values).hi, 97.5, 1e-12);
  EXPECT_NEAR(percentile_interval(values, 0.8).lo, 10, 1e-12);
  EXPECT_THROW(percentile_interval({}), Error);
  EXPECT_THROW(percentile_interval(values, 1), Error);
}

TEST(SpeedChange, NeedsAnIntervalAndTwoPercent) {
  const auto change = [](double ratio, double lo, double hi) {
    return speed_change({.n = 8, .ratio = ratio, .lo = lo, .hi = hi});
  };
  EXPECT_EQ(change(1.10, 1.05, 1.15), SpeedChange::kFaster);
  EXPECT_EQ(change(1 / 1.10, 1 / 1.15, 1 / 1.05), SpeedChange::kSlower);
  EXPECT_EQ(change(1.10, 0.99, 1.22), SpeedChange::kUndecided);
  EXPECT_EQ(change(1.015, 1.001, 1.03), SpeedChange::kUndecided);  // too little, perhaps not
  EXPECT_EQ(change(1.01, 1.005, 1.015), SpeedChange::kSame);
  EXPECT_EQ(change(1.00, 1 / 1.02, 1.02), SpeedChange::kSame);  // the borders are within
  EXPECT_EQ(speed_change({.n = 1, .ratio = 2}), SpeedChange::kUndecided);
  EXPECT_EQ(speed_change({}), SpeedChange::kUndecided);
}

}  // namespace
}  // namespace approx
