#include "results/stats/profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"

namespace approx {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

// Three methods on four workloads, worked by hand after Dolan and More (2002), Benchmarking
// optimization software with performance profiles, section 2. The best times are 10, 10, 30, 40.
const WorkloadTimes kTimes = {
    {10, 20, 30, kInfinity},         // ratios 1, 2, 1, unreached
    {20, 10, 30, 40},                // 2, 1, 1, 1
    {40, 50, kInfinity, kInfinity},  // 4, 5, unreached twice
};

TEST(Profile, RatiosAreToTheBestOfEachWorkload) {
  const auto ratios = ratios_to_best(kTimes);
  EXPECT_EQ(ratios[0], (std::vector<double>{1, 2, 1, kInfinity}));
  EXPECT_EQ(ratios[1], (std::vector<double>{2, 1, 1, 1}));
  EXPECT_EQ(ratios[2], (std::vector<double>{4, 5, kInfinity, kInfinity}));
}

TEST(Profile, RhoIsTheShareWithinTau) {
  const auto ratios = ratios_to_best(kTimes);
  EXPECT_EQ(profile_at(ratios[0], 1), 0.5);
  EXPECT_EQ(profile_at(ratios[0], 1.99), 0.5);
  EXPECT_EQ(profile_at(ratios[0], 2), 0.75);
  EXPECT_EQ(profile_at(ratios[0], kInfinity), 0.75);  // one is never reached
  EXPECT_EQ(profile_at(ratios[1], 1), 0.75);
  EXPECT_EQ(profile_at(ratios[1], 2), 1);
  EXPECT_EQ(profile_at(ratios[2], 1), 0);
  EXPECT_EQ(profile_at(ratios[2], 4), 0.25);
  EXPECT_EQ(profile_at(ratios[2], 5), 0.5);
}

// Up to 4, by hand: the first has (3 + 2 + 3 + 0) / 4 / 3, the second (2 + 3 + 3 + 3) / 4 / 3, the
// third comes within 4 at 4 only.
TEST(Profile, ScoreIsTheMeanOfRho) {
  const auto ratios = ratios_to_best(kTimes);
  EXPECT_NEAR(profile_score(ratios[0], 4), 8.0 / 12, 1e-12);
  EXPECT_NEAR(profile_score(ratios[1], 4), 11.0 / 12, 1e-12);
  EXPECT_EQ(profile_score(ratios[2], 4), 0);
  EXPECT_NEAR(profile_score(ratios[2], 6), (2.0 + 1) / 4 / 5, 1e-12);
  EXPECT_EQ(profile_score(std::vector<double>{1, 1}, 4), 1);
}

// The steps integrate to the score: rho holds from its tau to the next.
TEST(Profile, StepsAreWhereRhoChanges) {
  const auto profiles = performance_profiles(kTimes);
  ASSERT_EQ(profiles.size(), 3u);
  ASSERT_EQ(profiles[0].steps.size(), 3u);
  EXPECT_EQ(profiles[0].steps[0].tau, 1);
  EXPECT_EQ(profiles[0].steps[0].rho, 0.5);
  EXPECT_EQ(profiles[0].steps[1].tau, 2);
  EXPECT_EQ(profiles[0].steps[1].rho, 0.75);
  EXPECT_EQ(profiles[0].steps[2].tau, 4);
  EXPECT_EQ(profiles[0].steps[2].rho, 0.75);
  ASSERT_EQ(profiles[2].steps.size(), 2u);  // its ratio of 4 is the end
  EXPECT_EQ(profiles[2].steps[0].rho, 0);
  EXPECT_EQ(profiles[2].steps[1].rho, 0.25);
  for (const auto& profile : profiles) {
    double area = 0;
    for (size_t i = 0; i + 1 < profile.steps.size(); ++i) {
      area += profile.steps[i].rho * (profile.steps[i + 1].tau - profile.steps[i].tau);
    }
    EXPECT_NEAR(area / 3, profile.score, 1e-12);
  }
}

// Times in seconds or in hours are one profile; so are workloads of any length.
TEST(Profile, KnowsNoUnit) {
  auto times = kTimes;
  for (auto& row : times) {
    for (size_t w = 0; w < row.size(); ++w) row[w] *= std::exp2(static_cast<double>(w) - 2);
  }
  EXPECT_EQ(ratios_to_best(times), ratios_to_best(kTimes));
}

TEST(Profile, TiesAreBothBestAndAWorkloadOfNobodyCountsAgainstAll) {
  const auto ratios = ratios_to_best({{3, kInfinity}, {3, kInfinity}});
  for (const auto& row : ratios) {
    EXPECT_EQ(row, (std::vector<double>{1, kInfinity}));
    EXPECT_EQ(profile_at(row, 4), 0.5);
    EXPECT_EQ(profile_score(row, 4), 0.5);
  }
}

// Ten workloads of which three are won: resampled, the wins are a binomial count with p = 0.3, with
// 10 % and 90 % points 1 and 5 (tables: 0.028 0.149 up to 0 and 1, 0.850 0.953 up to 4 and 5). Lost
// ones are never reached, so the score is the same share.
TEST(Profile, BandOfWinsIsBinomial) {
  WorkloadTimes times(2, std::vector<double>(10, kInfinity));
  for (size_t w = 0; w < 10; ++w) times[w < 3 ? 0 : 1][w] = 7;
  ProfileOptions options;
  options.confidence = 0.8;
  const auto profiles = performance_profiles(times, options);
  for (const auto& step : profiles[0].steps) {
    EXPECT_EQ(step.rho, 0.3);
    EXPECT_NEAR(step.band->lo, 0.1, 1e-12);
    EXPECT_NEAR(step.band->hi, 0.5, 1e-12);
  }
  // The other method won the rest of the same resamples.
  EXPECT_NEAR(profiles[1].steps[0].band->lo, 0.5, 1e-12);
  EXPECT_NEAR(profiles[1].steps[0].band->hi, 0.9, 1e-12);
}

// One draw is one resample; the indices of seed 5 below 10 are 2 8 0 8 4 7 1 9 0 4, from an
// implementation of MT19937-64 apart from this one: four of the ten are wins of the first method.
TEST(Profile, AResampleIsThatOfTheGenerator) {
  WorkloadTimes times(2, std::vector<double>(10, kInfinity));
  for (size_t w = 0; w < 10; ++w) times[w < 3 ? 0 : 1][w] = 7;
  ProfileOptions options;
  options.draws = 1;
  options.seed = 5;
  const auto profiles = performance_profiles(times, options);
  for (const auto& step : profiles[0].steps) {
    EXPECT_NEAR(step.band->lo, 0.4, 1e-12);
    EXPECT_NEAR(step.band->hi, 0.4, 1e-12);
  }
  EXPECT_NEAR(profiles[1].steps[0].band->lo, 0.6, 1e-12);
}

// Twelve workloads with a third of them of each kind: one draw is one resample, the same for all
// methods, and the same seed gives the same.
TEST(Profile, EqualSeedsGiveEqualBands) {
  WorkloadTimes times(kTimes.size());
  for (int copy = 0; copy < 3; ++copy) {
    for (size_t m = 0; m < kTimes.size(); ++m) {
      times[m].insert(times[m].end(), kTimes[m].begin(), kTimes[m].end());
    }
  }
  ASSERT_GE(times[0].size(), kWorkloadsForABand);
  ProfileOptions options;
  options.draws = 500;
  options.seed = 2;
  const auto first = performance_profiles(times, options);
  const auto again = performance_profiles(times, options);
  for (size_t m = 0; m < first.size(); ++m) {
    for (size_t s = 0; s < first[m].steps.size(); ++s) {
      const auto &step = first[m].steps[s], &same = again[m].steps[s];
      ASSERT_TRUE(step.band);
      EXPECT_EQ(step.band->lo, same.band->lo);
      EXPECT_EQ(step.band->hi, same.band->hi);
      EXPECT_LE(step.band->lo, step.rho);
      EXPECT_GE(step.band->hi, step.rho);
    }
  }
}

TEST(Profile, FewWorkloadsHaveNoBandAndNoMethodNoProfile) {
  const auto profiles = performance_profiles({{5}, {10}});
  EXPECT_EQ(profiles[0].score, 1);
  EXPECT_NEAR(profiles[1].score, 2.0 / 3, 1e-12);
  EXPECT_FALSE(profiles[0].steps[0].band);
  const std::vector<double> nine(kWorkloadsForABand - 1, 1.0);
  EXPECT_FALSE(performance_profiles({nine, nine})[0].steps[0].band);
  EXPECT_TRUE(performance_profiles({}).empty());
  EXPECT_TRUE(ratios_to_best({}).empty());
  EXPECT_TRUE(geometric_means({}, {}).empty());
}

// By hand with a budget of 100 each: (1 * 2 * 1 * 100/40)^(1/4) = 5^(1/4); (2 * 1 * 1 * 1)^(1/4);
// (4 * 5 * 100/30 * 100/40)^(1/4).
TEST(GeometricMeans, UnreachedCountWithTheirBudgetAndAreMarked) {
  const std::vector<double> budgets(4, 100.0);
  const auto means = geometric_means(kTimes, budgets);
  ASSERT_EQ(means.size(), 3u);
  EXPECT_NEAR(*means[0].ratio, std::pow(5, 0.25), 1e-12);
  EXPECT_EQ(means[0].workloads, 4);
  EXPECT_EQ(means[0].unreached, 1);
  EXPECT_NEAR(*means[1].ratio, std::pow(2, 0.25), 1e-12);
  EXPECT_EQ(means[1].unreached, 0);
  EXPECT_NEAR(*means[2].ratio, std::pow(500.0 / 3, 0.25), 1e-12);
  EXPECT_EQ(means[2].unreached, 2);
}

TEST(GeometricMeans, AWorkloadOfNobodyIsLeftOut) {
  const std::vector<double> budgets = {10, 10};
  const auto means = geometric_means({{2, kInfinity}, {8, kInfinity}}, budgets);
  EXPECT_NEAR(*means[1].ratio, 4, 1e-12);
  EXPECT_EQ(means[1].workloads, 1);
  EXPECT_EQ(means[1].unreached, 0);
  const auto nobody = geometric_means({{kInfinity, kInfinity}}, budgets);
  EXPECT_FALSE(nobody[0].ratio);
  EXPECT_EQ(nobody[0].workloads, 0);
}

TEST(GeometricMeans, RefusesBudgetsThatDoNotFit) {
  EXPECT_THROW(geometric_means(kTimes, std::vector<double>{100, 100, 100}), Error);
  EXPECT_THROW(geometric_means(kTimes, std::vector<double>{100, 100, 100, kInfinity}), Error);
  EXPECT_THROW(geometric_means(kTimes, std::vector<double>{100, 100, 100, std::nan("")}), Error);
  EXPECT_THROW(geometric_means(kTimes, std::vector<double>{39, 100, 100, 100}), Error);
  EXPECT_NO_THROW(geometric_means(kTimes, std::vector<double>{40, 100, 100, 100}));
}

TEST(Profile, RefusesTimesThatAreNone) {
  for (const double time : {0.0, -1.0, -kInfinity, std::nan("")}) {
    EXPECT_THROW(ratios_to_best({{1, 2}, {1, time}}), Error);
    EXPECT_THROW(performance_profiles({{1, 2}, {time, 2}}), Error);
    EXPECT_THROW(geometric_means({{1, time}}, std::vector<double>{9, 9}), Error);
  }
  EXPECT_THROW(ratios_to_best({{1, 2}, {1}}), Error);
  EXPECT_THROW(ratios_to_best({{}}), Error);
  EXPECT_THROW(profile_at({}, 1), Error);
  EXPECT_THROW(profile_at(std::vector<double>{0.5}, 1), Error);
  EXPECT_THROW(profile_at(std::vector<double>{std::nan("")}, 1), Error);
  EXPECT_THROW(profile_score({}, 4), Error);
  EXPECT_THROW(profile_score(std::vector<double>{1}, 1), Error);
  EXPECT_THROW(profile_score(std::vector<double>{1}, kInfinity), Error);
  ProfileOptions options;
  options.draws = 0;
  EXPECT_THROW(performance_profiles(kTimes, options), Error);
  options.draws = 10;
  options.confidence = 1;
  EXPECT_THROW(performance_profiles({std::vector<double>(kWorkloadsForABand, 1.0)}, options),
               Error);
  options.confidence = 0.9;
  options.tau_max = 1;
  EXPECT_THROW(performance_profiles(kTimes, options), Error);
}

}  // namespace
}  // namespace approx
