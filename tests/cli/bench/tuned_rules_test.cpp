#include "cli/bench/tuned_rules.h"

#include <gtest/gtest.h>

namespace approx {
namespace {

const RuledVariant kBelow{"sparse_rows", "PrunedDY", "exact", Product::kDataGradient};
const RuledVariant kAbove{"lists", "SparseDY", "simd", Product::kWeightGradient, Pays::kAbove};

TEST(TunedRules, ShapesOfOneClassAreAlike) {
  const ConvShape shape{
      .in_channels = 16, .out_channels = 33, .size = 32, .kernel = 3, .stride = 2};
  const KernelRule rule = class_of(shape, kBelow);
  const std::vector<KernelRule> none, one = {rule};
  EXPECT_EQ(text_of(one).substr(text_of(none).size()),
            "sparse_rows     data_gradient    9      16..31    32..63    256..1023 2       *\n");
  ConvShape like = shape;
  like.in_channels = 31, like.out_channels = 63, like.size = 62;
  EXPECT_EQ(class_of(like, kBelow), rule);
  for (const auto change : {&ConvShape::in_channels, &ConvShape::size, &ConvShape::stride}) {
    ConvShape other = like;
    ++(other.*change);
    if (change == &ConvShape::size) other.size = 64;
    EXPECT_NE(class_of(other, kBelow), rule);
  }
}

// Wherever the step is, it is found, from either side.
TEST(TunedRules, TheStepIsFound) {
  for (const double step : {0.0, 0.05, 0.15, 0.44, 0.61, 1.0}) {
    const auto below = paying_densities(kBelow, [&](double d) { return d <= step; });
    if (step < 1.0 / 64) {
      EXPECT_FALSE(below);
    } else {
      EXPECT_LE(below->most, step);
      EXPECT_FALSE(below->hold(step + 0.3));
      EXPECT_TRUE(below->hold(0));
    }
    const auto above = paying_densities(kAbove, [&](double d) { return d >= step; });
    if (step > 0.9) {
      EXPECT_FALSE(above);
    } else {
      EXPECT_GE(above->least, step);
      EXPECT_TRUE(above->hold(1));
    }
  }
}

// What pays again beyond a density at which it does not is not counted on.
TEST(TunedRules, EveryDensityInsidePays) {
  const auto pays = [](double d) { return d != 0.3; };
  EXPECT_EQ(paying_densities(kBelow, pays)->most, 0.25);
  EXPECT_EQ(paying_densities(kAbove, pays)->least, 0.35);
}

TEST(TunedRules, AClassPaysWhereAllOfItsShapesDo) {
  std::vector<KernelRule> rules;
  KernelRule one = class_of({.in_channels = 16, .out_channels = 16, .size = 8}, kBelow),
             other = one;
  one.density->most = 0.4, other.density->most = 0.3;
  KernelRule elsewhere = class_of({.in_channels = 64, .out_channels = 16, .size = 8}, kBelow);
  for (const auto& rule : {one, other, elsewhere, one}) add_rule(rules, rule);
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].density->most, 0.3);
  EXPECT_EQ(rules[1], elsewhere);
  other.density.reset();
  add_rule(rules, other);
  add_rule(rules, one);
  EXPECT_FALSE(rules[0].density) << "one on which it never pays is enough";
}

}  // namespace
}  // namespace approx
