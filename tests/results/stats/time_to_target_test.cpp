#include "results/stats/time_to_target.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"

namespace approx {
namespace {

const double kNever = std::numeric_limits<double>::infinity();

// Weeks of remission of acute leukaemia (Freireich et al. 1963; Gehan 1965), with 6-MP and with a
// placebo: every book on survival works this example.
const std::vector<Attempt> kSixMp = {
    {6, true},   {6, true},   {6, true},   {6, false},  {7, true},   {9, false},  {10, true},
    {10, false}, {11, false}, {13, true},  {16, true},  {17, false}, {19, false}, {20, false},
    {22, true},  {23, true},  {25, false}, {32, false}, {32, false}, {34, false}, {35, false}};

std::vector<Attempt> all_reached(const std::vector<double>& times) {
  std::vector<Attempt> attempts;
  for (const double time : times) attempts.push_back({time, true});
  return attempts;
}

std::vector<Attempt> placebo() {
  return all_reached({1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23});
}

// At risk, survival and Greenwood's errors as tabled for 6-MP in Klein and Moeschberger (2003),
// table 4.1, and in R's summary(survfit(...)).
TEST(TimeToTarget, SurvivalOfTheLeukaemiaTrial) {
  const auto result = time_to_target(kSixMp);
  EXPECT_EQ(result.n, 21);
  EXPECT_EQ(result.reached, 9);
  const struct {
    double time;
    int64_t at_risk, reached;
    double survival, error;
  } rows[] = {{6, 21, 3, 0.857, 0.0764},  {7, 17, 1, 0.807, 0.0869},  {10, 15, 1, 0.753, 0.0963},
              {13, 12, 1, 0.690, 0.1068}, {16, 11, 1, 0.627, 0.1141}, {22, 7, 1, 0.538, 0.1282},
              {23, 6, 1, 0.448, 0.1346}};
  ASSERT_EQ(result.curve.size(), std::size(rows));
  for (size_t i = 0; i < std::size(rows); ++i) {
    EXPECT_EQ(result.curve[i].time, rows[i].time);
    EXPECT_EQ(result.curve[i].at_risk, rows[i].at_risk);
    EXPECT_EQ(result.curve[i].reached, rows[i].reached);
    EXPECT_NEAR(result.curve[i].survival, rows[i].survival, 5e-4);
    EXPECT_NEAR(*result.curve[i].error, rows[i].error, 5e-5);
  }
  EXPECT_EQ(result.median, 23);
  EXPECT_EQ(result.longest, 35);
  // All weeks over the relapses: 359 / 9, the inverse of the rate that exponential models give.
  EXPECT_DOUBLE_EQ(*result.expected_with_restarts, 359.0 / 9);
}

// R's survfit prints a restricted mean of 23.3 with error 2.83 for 6-MP at 35 weeks. By hand, the
// area is 6 + 18/21 + 3 * 0.80672 + 3 * 0.75294 + 3 * 0.69020 + 6 * 0.62745 + 0.53782
// + 12 * 0.44818 = 23.2874, and the terms of the variance are 2.3718 + 0.9924 + 0.9347 + 1.0461
// + 0.8520 + 0.8333 + 0.9641 = 7.9945.
TEST(TimeToTarget, RestrictedMeanOfTheLeukaemiaTrial) {
  const auto result = time_to_target(kSixMp, 35);
  EXPECT_NEAR(*result.restricted_mean, 23.2874, 1e-4);
  EXPECT_NEAR(*result.restricted_error, std::sqrt(7.9945), 1e-4);
  // At 12 weeks: 6 + 18/21 + 3 * 0.80672 + 2 * 0.75294 = 10.7832. Areas behind the steps are
  // 4.7832, 3.9261 and 1.5059: variance 22.879 / 126 + 15.414 / 272 + 2.2677 / 210 = 0.24904.
  const auto sooner = time_to_target(kSixMp, 12);
  EXPECT_NEAR(*sooner.restricted_mean, 10.7832, 1e-4);
  EXPECT_NEAR(*sooner.restricted_error, std::sqrt(0.24904), 1e-4);
  EXPECT_EQ(sooner.median, 23);  // the budget bounds the mean alone
}

// Stata's stci and R's survfit agree on 10 15 23 30 35 52 100+: mean 37.85714, error 10.73888.
TEST(TimeToTarget, RestrictedMeanWithOneRunStoppedAtTheBudget) {
  auto attempts = all_reached({10, 15, 23, 30, 35, 52});
  attempts.push_back({100, false});
  const auto result = time_to_target(attempts, 100);
  EXPECT_NEAR(*result.restricted_mean, 37.85714, 5e-6);
  EXPECT_NEAR(*result.restricted_error, 10.73888, 5e-6);
  EXPECT_EQ(result.median, 30);
}

// Where all reach it, the curve is the share left, its area the ordinary mean (182 / 21 weeks) and
// its error the standard deviation (with n) over sqrt(n). The median of the trial is 8 weeks.
TEST(TimeToTarget, NoneStoppedGivesTheOrdinaryMean) {
  const auto result = time_to_target(placebo(), 30);
  EXPECT_EQ(result.reached, 21);
  EXPECT_EQ(result.median, 8);
  EXPECT_EQ(result.curve.back().survival, 0);
  EXPECT_FALSE(result.curve.back().error);
  EXPECT_NEAR(result.curve.front().survival, 19.0 / 21, 1e-12);
  EXPECT_NEAR(*result.curve.front().error, std::sqrt(19.0 / 21 * 2 / 21 / 21), 1e-12);
  EXPECT_NEAR(*result.restricted_mean, 182.0 / 21, 1e-12);
  EXPECT_NEAR(*result.expected_with_restarts, 182.0 / 21, 1e-12);
  double squares = 0;
  for (const auto& attempt : placebo()) squares += std::pow(attempt.time - 182.0 / 21, 2);
  EXPECT_NEAR(*result.restricted_error, std::sqrt(squares) / 21, 1e-12);
}

// Nothing reached in 3 runs of 10: the median is beyond them, the mean is the budget.
TEST(TimeToTarget, AllStopped) {
  const std::vector<Attempt> attempts(3, {10, false});
  const auto result = time_to_target(attempts, 10);
  EXPECT_EQ(result.reached, 0);
  EXPECT_EQ(result.fraction, 0);
  EXPECT_EQ(result.fraction_interval.lo, 0);
  EXPECT_GT(result.fraction_interval.hi, 0.5);
  EXPECT_TRUE(result.curve.empty());
  EXPECT_FALSE(result.median);
  EXPECT_EQ(result.restricted_mean, 10);
  EXPECT_FALSE(result.restricted_error);
  EXPECT_FALSE(result.expected_with_restarts);
}

// 3 of 5: Wilson's 23 to 88 %.
TEST(TimeToTarget, FractionHasItsInterval) {
  const std::vector<Attempt> attempts = {{1, true}, {2, true}, {3, true}, {4, false}, {4, false}};
  const auto result = time_to_target(attempts);
  EXPECT_DOUBLE_EQ(*result.fraction, 0.6);
  EXPECT_NEAR(result.fraction_interval.lo, 0.231, 5e-4);
  EXPECT_NEAR(result.fraction_interval.hi, 0.882, 5e-4);
  EXPECT_FALSE(result.restricted_mean);  // no budget was asked for
  EXPECT_EQ(result.median, 3);
  EXPECT_DOUBLE_EQ(*result.expected_with_restarts, 14.0 / 3);
  EXPECT_GT(time_to_target(attempts, {}, 0.8).fraction_interval.lo, 0.231);
}

TEST(TimeToTarget, EmptyAndOneAttempt) {
  const auto none = time_to_target({}, 5);
  EXPECT_EQ(none.n, 0);
  EXPECT_FALSE(none.fraction);
  EXPECT_EQ(none.fraction_interval.hi, 1);
  EXPECT_FALSE(none.median);
  EXPECT_FALSE(none.restricted_mean);

  const auto one = time_to_target(all_reached({4}), 5);
  EXPECT_EQ(one.median, 4);
  EXPECT_EQ(one.restricted_mean, 4);
  EXPECT_FALSE(one.restricted_error);
  EXPECT_EQ(one.expected_with_restarts, 4);
}

// Half of them by 3, in any order, also where the product of shares rounds: 5/6 * 4/5 * 3/4.
TEST(TimeToTarget, MedianIsTheFirstTimeByWhichHalfAreThere) {
  EXPECT_EQ(time_to_target(all_reached({6, 2, 4, 1, 3, 5})).median, 3);
  for (int n = 2; n <= 100; n += 2) {
    std::vector<double> times;
    for (int i = 1; i <= n; ++i) times.push_back(i);
    EXPECT_EQ(time_to_target(all_reached(times)).median, n / 2);
  }
  const std::vector<Attempt> third = {{1, true}, {2, false}, {2, false}};
  EXPECT_FALSE(time_to_target(third).median);
}

// A run that stops at the moment at which another arrives was still going then. By hand: one of
// two arrives at 5, and nobody is left: 1/2. Were the stopped one out before, it would be 0.
// The sign test of n attempts leaves out k at each end with the probability 2 P(B < k), where B
// counts heads of n coins: 2/64 for k = 1 of 6; for n = 21, 2 P(B < 6) = 0.0266 and 2 P(B < 7) =
// 0.078.
TEST(TimeToTarget, TheIntervalOfAMedianIsThatOfTheSignTest) {
  const auto six = time_to_target(all_reached({5, 1, 4, 2, 6, 3}));
  EXPECT_EQ(six.median_lo, 1);
  EXPECT_EQ(six.median_hi, 6);
  const auto five = time_to_target(all_reached({5, 1, 4, 2, 3}));
  EXPECT_FALSE(five.median_lo) << "2/32 is above 5 %";
  EXPECT_FALSE(five.median_hi);
  // The sixth of each side of 1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23.
  const auto many = time_to_target(placebo());
  EXPECT_EQ(many.median_lo, 4);
  EXPECT_EQ(many.median_hi, 12);
}

// One that stopped early might have arrived at once or never.
TEST(TimeToTarget, AStopWidensTheIntervalOfAMedian) {
  auto attempts = all_reached({2, 3, 4, 5, 6, 7, 8, 9});
  attempts.push_back({1, false});
  const auto result = time_to_target(attempts);  // k = 2 of 9
  EXPECT_EQ(result.median_lo, 2);
  EXPECT_EQ(result.median_hi, 9);
  for (auto& attempt : attempts) attempt.reached = attempt.time < 8;
  EXPECT_FALSE(time_to_target(attempts).median_hi) << "two never arrived";
}

// Without each of 1 2 3 s in turn, of which all arrived: (2 + 3) / 2, (1 + 3) / 2, (1 + 2) / 2.
// Their sd is 1/2; times (n - 1) / sqrt(n) and t(2) = 4.3027 that is 2.4842, as for a plain mean.
TEST(TimeToTarget, RestartsHaveTheIntervalOfTheJackknife) {
  EXPECT_NEAR(*time_to_target(all_reached({1, 2, 3})).restarts_half, 2.48414, 1e-4);
  // Without one at a time of 1 and 2 s that arrived and 3 s that did not: 5, 4, 1.5 s a success.
  const auto some = time_to_target(std::vector<Attempt>{{1, true}, {2, true}, {3, false}});
  EXPECT_NEAR(*some.restarts_half, 4.302653 * std::sqrt(3.25) * 2 / std::sqrt(3), 1e-4);
  EXPECT_FALSE(time_to_target(std::vector<Attempt>{{1, true}, {3, false}}).restarts_half);
}

TEST(TimeToTarget, TheHalfWidthOfARestrictedMeanIsOfTheNormal) {
  const auto result = time_to_target(kSixMp, 35);
  EXPECT_NEAR(*result.restricted_half, 1.959964 * *result.restricted_error, 1e-5);
  EXPECT_FALSE(time_to_target(kSixMp).restricted_half);
}

TEST(TimeToTarget, TiesOfReachedAndStopped) {
  for (const bool stopped_first : {true, false}) {
    const std::vector<Attempt> attempts = {{5, !stopped_first}, {5, stopped_first}};
    const auto result = time_to_target(attempts);
    ASSERT_EQ(result.curve.size(), 1u);
    EXPECT_EQ(result.curve[0].at_risk, 2);
    EXPECT_DOUBLE_EQ(result.curve[0].survival, 0.5);
  }
}

// Beyond the last run that stopped, nothing is known of the curve; below, and where all arrived,
// it is.
TEST(TimeToTarget, NoMeanBeyondTheEndOfTheCurve) {
  EXPECT_TRUE(time_to_target(kSixMp, 35).restricted_mean);
  EXPECT_FALSE(time_to_target(kSixMp, 35.5).restricted_mean);
  EXPECT_TRUE(time_to_target(placebo(), 1000).restricted_mean);
  EXPECT_EQ(time_to_target(kSixMp, 0).restricted_mean, 0);
  EXPECT_EQ(time_to_target(kSixMp, 6).restricted_mean, 6);
  EXPECT_FALSE(time_to_target(kSixMp, 6).restricted_error);  // none arrived before 6
}

// A unit is a unit: twice the numbers, twice the times, equal shares.
TEST(TimeToTarget, KnowsNoUnit) {
  auto steps = kSixMp;
  for (auto& attempt : steps) attempt.time *= 128;
  const auto weeks = time_to_target(kSixMp, 20), result = time_to_target(steps, 20 * 128);
  EXPECT_EQ(result.median, *weeks.median * 128);
  EXPECT_NEAR(*result.restricted_mean, *weeks.restricted_mean * 128, 1e-9);
  EXPECT_NEAR(*result.restricted_error, *weeks.restricted_error * 128, 1e-9);
  EXPECT_EQ(result.curve[3].survival, weeks.curve[3].survival);
}

TEST(TimeToTarget, RefusesWhatIsNotATime) {
  for (const double time : {-1.0, kNever, std::nan("")}) {
    const std::vector<Attempt> attempts = {{1, true}, {time, false}};
    EXPECT_THROW(time_to_target(attempts), Error);
    EXPECT_THROW(time_to_target(kSixMp, time), Error);
  }
}

Ratio ratio_of_logs(double mid, double below, double above, int64_t n) {
  return {n, std::exp(mid), std::exp(mid - below), std::exp(mid + above)};
}

// Half widths of 0.3 and 0.4 on logarithms make 0.5, and 0.6 and 0.8 on the other side make 1.
TEST(ProductOfRatios, HalfWidthsAddAsSquares) {
  const auto product = product_of_ratios(ratio_of_logs(std::log(3), 0.3, 0.6, 4),
                                         ratio_of_logs(std::log(0.5), 0.4, 0.8, 7));
  EXPECT_EQ(product.n, 4);
  EXPECT_NEAR(product.ratio, 1.5, 1e-12);
  EXPECT_NEAR(*product.lo, 1.5 * std::exp(-0.5), 1e-12);
  EXPECT_NEAR(*product.hi, 1.5 * std::exp(1.0), 1e-12);
}

TEST(ProductOfRatios, WithoutAnIntervalAndByOne) {
  const Ratio exact{3, 2, 2.0, 2.0}, bare{1, 2, {}, {}};
  EXPECT_FALSE(product_of_ratios(exact, bare).lo);
  EXPECT_FALSE(product_of_ratios(bare, exact).hi);
  EXPECT_NEAR(product_of_ratios(bare, exact).ratio, 4, 1e-12);
  const auto same = product_of_ratios(ratio_of_logs(0.2, 0.1, 0.1, 5), {5, 1, 1.0, 1.0});
  EXPECT_NEAR(std::log(*same.hi), 0.3, 1e-12);
  EXPECT_NEAR(std::log(*same.lo), 0.1, 1e-12);
}

TEST(ProductOfRatios, RefusesWhatIsNotARatio) {
  const Ratio one{3, 1, 0.5, 2.0};
  for (const double value : {0.0, -1.0, kNever, std::nan("")}) {
    EXPECT_THROW(product_of_ratios({3, value, {}, {}}, one), Error);
    EXPECT_THROW(product_of_ratios(one, {3, 1, value, 2.0}), Error);
  }
  EXPECT_THROW(product_of_ratios({3, 1, 1.5, 2.0}, one), Error);
  EXPECT_THROW(product_of_ratios({3, 1, 0.5, 0.9}, one), Error);
}

// By hand: steps 400/200 and 900/100 have the geometric mean sqrt(18); step times 2/1 and 1/0.5
// are both 2; seconds 800/200 and 900/50 have sqrt(72) = 2 sqrt(18).
TEST(TargetSpeedup, IsStepsTimesStepTime) {
  const std::vector<TargetEffort> dense = {{400, 800}, {900, 900}};
  const std::vector<TargetEffort> method = {{200, 200}, {100, 50}};
  const auto speedup = target_speedup(dense, method);
  const auto product = product_of_ratios(speedup.steps, speedup.step_time);
  EXPECT_EQ(product.n, 2);
  EXPECT_NEAR(speedup.steps.ratio, std::sqrt(18.0), 1e-12);
  EXPECT_NEAR(speedup.step_time.ratio, 2, 1e-12);
  EXPECT_NEAR(speedup.time.ratio, std::sqrt(72.0), 1e-12);
  EXPECT_NEAR(product.ratio, std::sqrt(72.0), 1e-12);
  // Step times have no spread here, so the product has the interval of the steps, and the seconds
  // have the same.
  EXPECT_NEAR(std::log(*product.hi), std::log(*speedup.time.hi), 1e-9);
}

// More steps, each faster: where the two go against each other, the seconds vary less than the
// product of two independent ratios would.
TEST(TargetSpeedup, IdentityHoldsAndTheIntervalsDiffer) {
  std::vector<TargetEffort> dense, method;
  for (int i = 1; i <= 9; ++i) {
    dense.push_back({1000.0 + 17 * i, 130.0 + 3 * i});
    const double steps = 1100.0 + 61 * ((i * 5) % 9);
    method.push_back({steps, 120.0 + i});
  }
  const auto speedup = target_speedup(dense, method);
  const auto product = product_of_ratios(speedup.steps, speedup.step_time);
  EXPECT_NEAR(product.ratio, speedup.time.ratio, 1e-12);
  EXPECT_LT(speedup.steps.ratio, 1);
  EXPECT_GT(speedup.step_time.ratio, 1);
  EXPECT_GT(*product.hi / *product.lo, *speedup.time.hi / *speedup.time.lo);
}

TEST(TargetSpeedup, OnePairNoPairsAndNonsense) {
  const std::vector<TargetEffort> one = {{100, 10}}, two = {{100, 10}, {100, 10}};
  EXPECT_EQ(target_speedup(one, one).time.ratio, 1);
  EXPECT_FALSE(target_speedup(one, one).time.lo);
  EXPECT_EQ(target_speedup({}, {}).time.n, 0);
  EXPECT_THROW(target_speedup(one, two), Error);
  for (const double value : {0.0, -1.0, kNever, std::nan("")}) {
    EXPECT_THROW(target_speedup(one, std::vector<TargetEffort>{{value, 1}}), Error);
    EXPECT_THROW(target_speedup(std::vector<TargetEffort>{{1, value}}, one), Error);
  }
}

}  // namespace
}  // namespace approx
