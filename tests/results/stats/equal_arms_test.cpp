// How often intervals and tests call a difference between two equal arms. The draws have fixed
// seeds, so each count is the same on every machine. docs/internals/statistics.md has the figures.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "results/stats/stats.h"

namespace approx {
namespace {

// Draws that the standard fixes: its distributions may differ from machine to machine.
class Draws {
 public:
  explicit Draws(uint64_t seed) : engine_(seed) {}

  // Above 0 and below 1.
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::acos(-1.0) * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

// Percent of `trials` in which `says` is true; in the test's XML output under `name`.
double percent(const std::string& name, int trials, const std::function<bool(Draws&)>& says) {
  Draws draws(20261128);
  int hits = 0;
  for (int i = 0; i < trials; ++i) hits += says(draws);
  const double share = 100.0 * hits / trials;
  testing::Test::RecordProperty(name, std::to_string(share));
  return share;
}

bool excludes_one(const Ratio& ratio) { return *ratio.lo > 1 || *ratio.hi < 1; }

// The log-ratios of a kernel to itself: noise, and what the second of a pair gains by its place.
// Which case comes first is drawn for every two pairs and reversed in the second, as `bench-kernel`
// measures. `spikes`: share of times that something else makes longer, by about a half.
struct EqualKernels {
  double place = 0, noise = 0.01, spikes = 0, drift = 0;

  Ratio measure(Draws& draws, int pairs, bool mirrored) const {
    std::vector<double> a, b;
    bool a_first = false;
    double clock = 0;
    for (int i = 0; i < pairs; ++i) {
      a_first = i % 2 == 0 ? draws.uniform() < 0.5 : !a_first;
      const auto time = [&](bool second) {
        clock += drift;
        const double spike = draws.uniform() < spikes ? -0.5 * std::log(draws.uniform()) : 0;
        return std::exp(noise * draws.normal() + (second ? place : 0) + spike + clock);
      };
      double first = time(false), second = time(true);
      a.push_back(a_first ? first : second);
      b.push_back(a_first ? second : first);
    }
    return mirrored ? ratio_of_mirrored(a, b) : ratio_of_pairs(a, b);
  }
};

constexpr int kTrials = 4000;

double false_percent(const std::string& name, const EqualKernels& kernels, bool mirrored,
                     int pairs = 20) {
  return percent(name, kTrials, [&](Draws& draws) {
    return excludes_one(kernels.measure(draws, pairs, mirrored));
  });
}

// One in twenty, whatever the place is worth. Where that is more than the noise, a t-interval over
// single pairs takes it for spread, and hardly ever excludes 1.
TEST(EqualArms, AMirroredIntervalDoesNotCountThePlaceAsSpread) {
  EXPECT_NEAR(false_percent("mirrored_no_place", {}, true), 5, 1);
  EXPECT_NEAR(false_percent("pairs_no_place", {}, false), 5, 1);
  EXPECT_NEAR(false_percent("mirrored_place", {.place = 0.02}, true), 5, 1);
  EXPECT_LT(false_percent("pairs_place", {.place = 0.02}, false), 1);
  EXPECT_NEAR(false_percent("mirrored_drift", {.drift = 0.005}, true), 5, 1);
  EXPECT_NEAR(false_percent("mirrored_of_four_pairs", {.place = 0.02}, true, 4), 5, 1);
}

// Nor does something else on the machine that now and then takes its time. A t-interval takes each
// such time for spread, and hardly ever excludes 1.
TEST(EqualArms, RareLongTimesDoNotWidenAnInterval) {
  const EqualKernels some{.noise = 0.005, .spikes = 0.02}, more{.noise = 0.005, .spikes = 0.1};
  EXPECT_NEAR(false_percent("mirrored_some_spikes", some, true), 5, 1);
  EXPECT_NEAR(false_percent("mirrored_more_spikes", more, true), 5, 1);
  EXPECT_LT(false_percent("pairs_more_spikes", more, false), 2);
}

// Accuracies in percent of both arms, one pair a seed. The seed is worth as much as the rest, as
// for runs that share their images. `bad`: share of trainings that end a point and a half lower.
struct EqualAccuracies {
  double bad = 0;

  std::vector<double> losses(Draws& draws, int seeds, double loss = 0) const {
    std::vector<double> losses;
    for (int i = 0; i < seeds; ++i) {
      const double of_seed = 92 + 0.2 * draws.normal();
      const auto accuracy = [&] {
        const double lower = draws.uniform() < bad ? 1.5 : 0;
        // A share of 10,000 test images.
        return std::round(100 * (of_seed + 0.2 * draws.normal() - lower)) / 100;
      };
      const double exact = accuracy(), method = accuracy() - loss;
      losses.push_back(exact - method);
    }
    return losses;
  }
};

// The rules of the tables: the interval of the mean loss, and the p of the sign-flip test.
TEST(EqualArms, ALossIsSeenInOneOfTwentyAtMost) {
  for (const double bad : {0.0, 0.05}) {
    const EqualAccuracies arms{.bad = bad};
    const std::string of = bad > 0 ? "_bad_seeds" : "";
    for (const int seeds : {6, 8, 12}) {
      const std::string name = std::to_string(seeds) + "_seeds" + of;
      const double interval = percent("interval_" + name, kTrials, [&](Draws& draws) {
        const auto loss = paired_difference(arms.losses(draws, seeds));
        return std::fabs(loss.mean) > *loss.half;
      });
      EXPECT_LE(interval, 6) << name;
      const double p = percent("sign_flips_" + name, kTrials, [&](Draws& draws) {
        return *paired_difference(arms.losses(draws, seeds)).p < 0.05;
      });
      EXPECT_LE(p, 6) << name;
      EXPECT_GE(p, 0.5) << name << ": a test that never fails is none";
    }
  }
}

// The rule of `report advice`: an equal method is hardly ever inferior. One that loses just the
// margin, the worst that is not allowed, is called non-inferior in one of twenty at most.
TEST(EqualArms, NonInferiorityErrsInOneOfTwentyAtMost) {
  constexpr double kMargin = 0.5;
  for (const double bad : {0.0, 0.05}) {
    const EqualAccuracies arms{.bad = bad};
    const std::string of = bad > 0 ? "_bad_seeds" : "";
    const auto share = [&](const std::string& name, double loss, NonInferiority verdict) {
      return percent(name + of, kTrials, [&](Draws& draws) {
        return non_inferiority(arms.losses(draws, 6, loss), kMargin).verdict == verdict;
      });
    };
    EXPECT_LT(share("equal_is_inferior", 0, NonInferiority::kInferior), 1);
    EXPECT_LE(share("at_margin_is_non_inferior", kMargin, NonInferiority::kNonInferior), 6);
    EXPECT_LE(share("at_margin_is_inferior", kMargin, NonInferiority::kInferior), 6);
  }
}

// The rule of `report compare` for seeds that are not paired, with no margin.
TEST(EqualArms, WelchSeesADifferenceInOneOfTwentyAtMost) {
  const double share = percent("welch", kTrials, [](Draws& draws) {
    std::vector<double> a, b;
    for (int i = 0; i < 6; ++i) {
      a.push_back(draws.normal());
      b.push_back(3 * draws.normal());
    }
    const auto difference = welch_difference(a, b);
    return std::fabs(difference.difference) > *difference.half;
  });
  EXPECT_NEAR(share, 5, 1.5);
}

}  // namespace
}  // namespace approx
