#include <gtest/gtest.h>

#include "results/rows/rows.h"

namespace approx {
namespace {

Ratio ratio(double value, std::optional<double> lo, std::optional<double> hi, int64_t n) {
  Ratio made;
  made.ratio = value;
  made.lo = lo;
  made.hi = hi;
  made.n = n;
  return made;
}

TEST(RowTexts, AnIntervalThatSaysNothingGivesWayToTheNumberOfProcesses) {
  EXPECT_EQ(ratio_text(ratio(1.22, 0.02, 60.69, 2)), "1.22× (n=2)");
  EXPECT_EQ(ratio_text(ratio(1.5, 0.5, 4.9, 2)), "1.50× [0.50, 4.90]");
  EXPECT_EQ(ratio_text(ratio(1.5, {}, {}, 1)), "1.50× (n=1)");
  EXPECT_EQ(ratio_text(ratio(0, {}, {}, 0)), "–");
}

// Of m losses none can have a p below m * 2 / 2^n.
TEST(RowTexts, NoPThatCannotShowAnything) {
  EXPECT_EQ(loss_p_text(0.031, 6, 1), "p=0.031");
  EXPECT_EQ(loss_p_text(0.81, 6, 1), "p=0.81") << "it could have been small";
  EXPECT_EQ(loss_p_text(0.062, 5, 1), "");
  EXPECT_EQ(loss_p_text(0.094, 6, 3), "");
  EXPECT_EQ(loss_p_text(0.047, 7, 3), "p=0.047");
  EXPECT_EQ(loss_p_text(std::nullopt, 7, 3), "");
  EXPECT_EQ(p_text(0.031, 6, 1), "0.031");
}

}  // namespace
}  // namespace approx
