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

}  // namespace
}  // namespace approx
