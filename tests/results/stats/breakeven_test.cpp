#include "results/stats/breakeven.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <random>
#include <vector>

#include "base/error.h"

namespace approx {
namespace {

// Draws from the normal distribution, the same on every machine but for rounding.
class NormalDraws {
 public:
  explicit NormalDraws(uint64_t seed) : engine_(seed) {}

  double operator()() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  // Above 0 and at most 1.
  double uniform() { return (static_cast<double>(engine_() >> 11) + 1) * 0x1p-53; }

  std::mt19937_64 engine_;
};

// Six seeds at each of these lengths, of which the accuracy is `curve`'s and a little of each seed.
std::vector<ExactTraining> trainings_of(const std::vector<double>& lengths, double (*curve)(double),
                                        double spread = 0) {
  std::vector<ExactTraining> trainings;
  for (const double length : lengths) {
    for (int64_t seed = 0; seed < 6; ++seed) {
      const double off = spread * static_cast<double>(2 * seed - 5);  // none on average
      trainings.push_back({seed, length, curve(length) + off});
    }
  }
  return trainings;
}

std::vector<MethodTraining> method_of(const std::vector<double>& accuracies) {
  std::vector<MethodTraining> trainings;
  for (size_t i = 0; i < accuracies.size(); ++i) {
    trainings.push_back({static_cast<int64_t>(i), accuracies[i]});
  }
  return trainings;
}

double parabola(double length) {
  const double x = std::log(length / 4);
  return 60 + 10 * x - 3 * x * x;
}

TEST(Breakeven, ReadsTheLengthOffTheCurve) {
  const auto exact = trainings_of({4, 5, 6, 8}, parabola);
  for (const double length : {4.01, 4.7, 6.3, 7.99}) {
    const auto found = equivalent_length(exact, method_of({parabola(length)}));
    ASSERT_EQ(found.place, CurvePlace::kWithin) << length;
    EXPECT_NEAR(*found.length, length, 1e-6);
    EXPECT_FALSE(found.lo || found.hi) << "one seed has no interval";
    EXPECT_EQ(found.n, 1);
    EXPECT_EQ(found.seeds, 1);
    EXPECT_EQ(found.runs, 24);
    EXPECT_EQ(found.lengths, 4);
    EXPECT_EQ(found.shortest, 4);
    EXPECT_EQ(found.longest, 8);
  }
}

TEST(Breakeven, SaysOnWhichSideOfTheTrainedLengthsItLies) {
  const auto exact = trainings_of({4, 5, 6}, parabola, 0.01);
  const auto found = [&](double accuracy) {
    return equivalent_length(exact, method_of({accuracy - 0.01, accuracy, accuracy + 0.01}));
  };
  const auto worse = found(59.5), better = found(63.9);
  EXPECT_EQ(worse.place, CurvePlace::kBelowAll);
  EXPECT_FALSE(worse.length || worse.lo);
  EXPECT_EQ(worse.hi, 4.0) << "surely worse than the shortest";
  EXPECT_EQ(better.place, CurvePlace::kAboveAll);
  EXPECT_FALSE(better.length || better.hi);
  EXPECT_EQ(better.lo, 6.0) << "surely better than the longest";
  const auto perhaps_better = found(parabola(6) + 1e-4);
  EXPECT_EQ(perhaps_better.place, CurvePlace::kAboveAll);
  EXPECT_LT(*perhaps_better.lo, 6.0);
  EXPECT_FALSE(perhaps_better.hi);
}

TEST(Breakeven, TakesThreeLengths) {
  const auto method = method_of({60, 61});
  EXPECT_EQ(equivalent_length(trainings_of({4, 6}, parabola), method).place, CurvePlace::kNoCurve);
  EXPECT_EQ(equivalent_length({}, method).place, CurvePlace::kNoCurve);
  const auto exact = trainings_of({4, 5, 6}, parabola);
  EXPECT_EQ(equivalent_length(exact, {}).place, CurvePlace::kNoCurve);
  // Rounding makes no further length.
  EXPECT_EQ(equivalent_length(trainings_of({4, 6, 6 + 1e-9}, parabola), method).lengths, 2);
}

// Where every seed was trained at every length, the interval is that of the t-test of the
// differences by seed, each of the seed's own curve: here the parabola through its three points.
TEST(Breakeven, ItsEndsAreWhereTheTTestOfPairsBegins) {
  const std::vector<double> lengths = {4, 5, 6};
  NormalDraws draw(7);
  std::vector<ExactTraining> exact;
  std::vector<double> accuracies;
  std::map<int64_t, std::vector<double>> by_seed;
  for (int64_t seed = 0; seed < 6; ++seed) {
    for (const double length : lengths) {
      exact.push_back({seed, length, parabola(length) + 0.3 * draw()});
      by_seed[seed].push_back(exact.back().accuracy);
    }
    accuracies.push_back(parabola(4.9) + 0.3 * draw());
  }
  const auto found = equivalent_length(exact, method_of(accuracies));
  ASSERT_TRUE(found.lo && found.hi);
  EXPECT_LT(*found.lo, *found.length);
  EXPECT_LT(*found.length, *found.hi);
  const auto curve_at = [&](int64_t seed, double length) {
    double sum = 0;  // by Lagrange
    for (size_t i = 0; i < lengths.size(); ++i) {
      double weight = 1;
      for (size_t j = 0; j < lengths.size(); ++j) {
        if (j != i) weight *= std::log(length / lengths[j]) / std::log(lengths[i] / lengths[j]);
      }
      sum += weight * by_seed.at(seed)[i];
    }
    return sum;
  };
  for (const double end : {*found.lo, *found.hi}) {
    std::vector<double> differences;
    for (int64_t seed = 0; seed < 6; ++seed) {
      differences.push_back(curve_at(seed, end) - accuracies[static_cast<size_t>(seed)]);
    }
    const auto test = summarize(differences);
    EXPECT_NEAR(std::fabs(test.mean), *test.half, 1e-6);
  }
}

// The exact accuracies 60, 70 and 69 at equal steps of the logarithm: the best curve that does not
// fall is 70.5 - 2.5 (u - 1)^2 by hand, u from -1 to 1, where the best parabola falls behind 0.4.
TEST(Breakeven, TheCurveDoesNotFall) {
  std::vector<ExactTraining> exact;
  const std::vector<double> accuracies = {60, 70, 69};
  for (int64_t at = 0; at < 3; ++at) {
    for (int64_t seed = 0; seed < 2; ++seed) {
      exact.push_back(
          {seed, std::exp(static_cast<double>(at - 1)), accuracies[static_cast<size_t>(at)]});
    }
  }
  const auto at = [&](double accuracy) { return equivalent_length(exact, method_of({accuracy})); };
  EXPECT_NEAR(*at(69.875).length, std::exp(0.5), 1e-6);
  EXPECT_NEAR(*at(68).length, 1, 1e-6);
  EXPECT_NEAR(*at(60.5).length, std::exp(-1), 1e-6);
  EXPECT_EQ(at(70.6).place, CurvePlace::kAboveAll);
  // Longer training that is worse all along: no length is as accurate as what is better.
  for (auto& training : exact) training.accuracy = 70 - training.length;
  EXPECT_EQ(at(70).place, CurvePlace::kAboveAll);
  EXPECT_EQ(at(66).place, CurvePlace::kBelowAll);
}

// Six seeds a side, 1,000 draws: 950 intervals hold the true length, give or take 20.
// scripts/breakeven-coverage has more curves, and other fits and intervals.
struct Coverage {
  const char* name;
  std::vector<double> lengths;
  double truth, rise, bend;  // as in scripts/breakeven-coverage
  bool shared;               // the method's seeds are those of the exact trainings
  double correlation;        // of trainings of one seed
};

class BreakevenCoverage : public testing::TestWithParam<Coverage> {};

TEST_P(BreakevenCoverage, IsThatOfTheConfidence) {
  const auto& given = GetParam();
  const auto curve = [&](double length) {
    return given.rise / given.bend * (1 - std::pow(length, -given.bend));
  };
  NormalDraws draw(20261128);
  int64_t held = 0;
  constexpr int64_t kDraws = 1000, kSeeds = 6;
  const double common = std::sqrt(given.correlation), own = std::sqrt(1 - given.correlation);
  for (int64_t i = 0; i < kDraws; ++i) {
    std::vector<ExactTraining> exact;
    std::vector<MethodTraining> method;
    for (int64_t seed = 0; seed < kSeeds; ++seed) {
      const double of_seed = common * draw();
      for (const double length : given.lengths) {
        exact.push_back({seed, length, curve(length) + of_seed + own * draw()});
      }
      method.push_back({given.shared ? seed : 100 + seed, curve(given.truth) + own * draw()});
      method.back().accuracy += given.shared ? of_seed : common * draw();
    }
    const auto found = equivalent_length(exact, method);
    const bool above = !found.lo || *found.lo <= given.truth;
    const bool below = !found.hi || *found.hi >= given.truth;
    held += above && below;
  }
  EXPECT_GE(held, 930);
  EXPECT_LE(held, 970);
}

INSTANTIATE_TEST_SUITE_P(
    OfSixSeeds, BreakevenCoverage,
    testing::Values(Coverage{"Steep", {0.7, 0.8, 0.9, 1}, 0.95, 15, 1, true, 0},
                    Coverage{"Flat", {0.7, 0.8, 0.9, 1}, 0.85, 5, 1, true, 0},
                    Coverage{"Bent", {0.7, 0.8, 0.9, 1}, 0.75, 15, 3, true, 0},
                    Coverage{"ThreeLengths", {0.5, 0.75, 1}, 0.85, 15, 1, true, 0},
                    Coverage{"DependentSeeds", {0.7, 0.8, 0.9, 1}, 0.9, 15, 1, true, 0.5},
                    Coverage{"OtherSeeds", {0.7, 0.8, 0.9, 1}, 0.9, 15, 1, false, 0}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Breakeven, TheGapIsThatOfTwoMeasurementsMadeApart) {
  const EquivalentLength equivalent{.length = 8, .lo = 5, .hi = 10};
  const Bounded even = breakeven_speedup(10, equivalent);
  EXPECT_EQ(even.value, 1.25);
  EXPECT_EQ(even.lo, 1.0);
  EXPECT_EQ(even.hi, 2.0);
  // On logarithms: up by 1.2 of the speedup and by 1.25 / 1 of break-even, down by 1.5 and 1.6.
  const Bounded gap = percent_above({.n = 10, .ratio = 1.5, .lo = 1.0, .hi = 1.8}, even);
  EXPECT_NEAR(*gap.value, 20, 1e-9);
  EXPECT_NEAR(*gap.hi, 100 * (1.2 * std::exp(std::hypot(std::log(1.2), std::log(1.25))) - 1), 1e-9);
  EXPECT_NEAR(*gap.lo, 100 * (1.2 * std::exp(-std::hypot(std::log(1.5), std::log(1.6))) - 1), 1e-9);
  const Bounded of_nothing = percent_above({}, even);
  EXPECT_FALSE(of_nothing.value || of_nothing.lo || of_nothing.hi);
  const Bounded of_one = percent_above({.n = 1, .ratio = 1.5}, even);
  EXPECT_TRUE(of_one.value && !of_one.lo && !of_one.hi);
}

TEST(Breakeven, ABoundStandsForABreakEvenBeyondTheTrainedLengths) {
  const Ratio speedup{.n = 10, .ratio = 1.5, .lo = 1.2, .hi = 1.8};
  const Bounded at_least = breakeven_speedup(10, {.hi = 5.0});
  EXPECT_EQ(at_least.lo, 2.0);
  EXPECT_FALSE(at_least.value || at_least.hi);
  const Bounded below = percent_above(speedup, at_least);
  EXPECT_FALSE(below.value || below.lo);
  EXPECT_NEAR(*below.hi, -10, 1e-9);
  const Bounded above = percent_above(speedup, breakeven_speedup(10, {.lo = 10.0}));
  EXPECT_FALSE(above.value || above.hi);
  EXPECT_NEAR(*above.lo, 20, 1e-9);
  // Of a break-even speedup that may be below what was trained the lower end is not known.
  const Bounded open = percent_above(speedup, breakeven_speedup(10, {.length = 8.0, .lo = 5.0}));
  EXPECT_TRUE(open.value && open.lo && !open.hi);
}

TEST(Breakeven, RefusesWhatIsNoTraining) {
  const auto method = method_of({60, 61});
  auto exact = trainings_of({4, 5, 6}, parabola);
  exact[0].length = 0;
  EXPECT_THROW(equivalent_length(exact, method), Error);
  exact[0].length = 4;
  exact[0].accuracy = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(equivalent_length(exact, method), Error);
  exact[0].accuracy = 60;
  EXPECT_THROW(equivalent_length(exact, method_of({std::numeric_limits<double>::infinity()})),
               Error);
}

}  // namespace
}  // namespace approx
