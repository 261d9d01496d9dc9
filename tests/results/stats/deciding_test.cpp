#include "results/stats/deciding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace approx {
namespace {

// The ratio of so many processes whose logarithms are `middle` + and - `off` in turn.
Ratio ratio_of(int64_t n, double middle, double off) {
  std::vector<double> logs;
  for (int64_t i = 0; i < n; ++i) logs.push_back(middle + (i % 2 == 0 ? off : -off));
  return ratio_of_logs(logs);
}

TEST(Deciding, LooksEarlyByAWiderInterval) {
  const Ratio ten = ratio_of(10, 0.2, 0.1);
  EXPECT_NEAR(*deciding(ten, 2).lo, *ten.lo, 1e-12);
  EXPECT_NEAR(*deciding(ten, 2).hi, *ten.hi, 1e-12);
  // Six values +-0.1: a standard error of 0.1 / sqrt(5); t(5) is 6.8688 at 99.9 %.
  const Ratio six = deciding(ratio_of(6, 0.2, 0.1), 2);
  EXPECT_NEAR(std::log(*six.lo), 0.2 - 6.8688 * 0.1 / std::sqrt(5), 1e-5);
  EXPECT_NEAR(std::log(*six.hi), 0.2 + 6.8688 * 0.1 / std::sqrt(5), 1e-5);
  EXPECT_FALSE(deciding(ratio_of(4, 0.2, 0.1), 2).lo);
  EXPECT_FALSE(deciding(ratio_of(1, 0.2, 0.1), 2).hi);
  EXPECT_EQ(deciding(ratio_of(4, 0.2, 0.1), 2).n, 4);
}

TEST(Deciding, OneOccasionDoesNotKnowTheNext) {
  const Ratio sharp = ratio_of(10, 0.02, 0);
  EXPECT_NEAR(*deciding(sharp, 2).lo, std::exp(0.02), 1e-12);
  EXPECT_NEAR(*deciding(sharp, 1).lo, std::exp(0.02) / 1.03, 1e-12);
  EXPECT_NEAR(*deciding(sharp, 1).hi, std::exp(0.02) * 1.03, 1e-12);
  const Ratio wide = ratio_of(10, 0.2, 0.1);  // wider than that by itself
  EXPECT_NEAR(*deciding(wide, 1).lo, *wide.lo, 1e-12);
}

}  // namespace
}  // namespace approx
