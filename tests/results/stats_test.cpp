#include "results/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/spec/error.h"

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

TEST(Stats, OneValueHasNoSpreadAndNoneHasNothing) {
  const std::vector<double> one = {3.5};
  EXPECT_EQ(summarize(one).n, 1);
  EXPECT_DOUBLE_EQ(summarize(one).mean, 3.5);
  EXPECT_FALSE(summarize(one).sd);
  EXPECT_FALSE(summarize(one).half);
  EXPECT_EQ(summarize({}).n, 0);
  EXPECT_FALSE(paired_difference(one).p);
  EXPECT_FALSE(ratio_of_groups({}).lo);
  EXPECT_DOUBLE_EQ(ratio_of_groups({{}, {}}).ratio, 1);
  EXPECT_FALSE(ratio_of_groups({{0.1}}).lo);
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

// Two runs whose means agree keep the interval of their pairs; two that differ get the wider one
// of their means. By hand: groups {0, 0.2} and {0, 0.2}: mean 0.1, within sd = sqrt(0.04 / 2),
// error = 0.141421 * sqrt(1/2 + 1/2) / 2, t(2) = 4.302653: half = 0.304243.
TEST(Stats, RatioOfRunsTakesTheWiderInterval) {
  const auto agree = ratio_of_groups({{0, 0.2}, {0, 0.2}});
  EXPECT_EQ(agree.n, 4);
  EXPECT_NEAR(std::log(agree.ratio), 0.1, 1e-12);
  EXPECT_NEAR(std::log(*agree.hi) - 0.1, 0.304243, 1e-5);

  // Means 0 and 1, nothing inside the groups: t(1) * sqrt(1/2) / sqrt(2) = 12.7062 / 2.
  const auto differ = ratio_of_groups({{0, 0}, {1, 1}});
  EXPECT_NEAR(std::log(*differ.hi) - 0.5, 6.3531, 1e-3);
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

}  // namespace
}  // namespace approx
