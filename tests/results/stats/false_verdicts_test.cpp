#include <gtest/gtest.h>

#include <vector>

#include "results/stats/stats.h"

namespace approx {
namespace {

constexpr Ratio of(double ratio, double lo, double hi) {
  return {.n = 10, .ratio = ratio, .lo = lo, .hi = hi};
}

constexpr Ratio kSame = of(1.00, 0.99, 1.01), kWide = of(1.1, 0.9, 1.3),
                kFaster = of(1.05, 1.01, 1.09), kSlower = of(0.9, 0.85, 0.95),
                kNear = of(1.01, 1.005, 1.015);  // beyond 1, and too near to be a verdict

TEST(FalseVerdicts, AreThoseThatSayFasterOrSlower) {
  const auto found = false_verdicts(std::vector{kSame, kFaster, kWide, kSlower, kNear});
  EXPECT_EQ(found.n, 5);
  EXPECT_EQ(found.false_ones, 2);
  EXPECT_EQ(found.without_one, 3);
  EXPECT_FALSE(found.passed());
}

TEST(FalseVerdicts, OneInTwentyIsAllowedAndNoMore) {
  std::vector<Ratio> ratios(200, kSame);
  EXPECT_TRUE(false_verdicts(ratios).passed());
  for (size_t i = 0; i < 10; ++i) ratios[i] = i % 2 == 0 ? kFaster : kSlower;
  EXPECT_EQ(false_verdicts(ratios).false_ones, 10);
  EXPECT_TRUE(false_verdicts(ratios).passed());
  ratios[10] = kFaster;
  EXPECT_FALSE(false_verdicts(ratios).passed());
}

TEST(FalseVerdicts, ARatioWithoutAnIntervalSaysNothing) {
  const auto found = false_verdicts(std::vector{Ratio{.n = 1, .ratio = 3, .lo = {}, .hi = {}}});
  EXPECT_EQ(found.n, 1);
  EXPECT_EQ(found.false_ones, 0);
  EXPECT_EQ(found.without_one, 0);
  EXPECT_TRUE(false_verdicts({}).passed());
}

}  // namespace
}  // namespace approx
