#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

int64_t length_of(Axis axis, const Operands& o) {
  return axis == Axis::kInputChannels ? o.x.size(1)
         : axis == Axis::kExamples    ? o.x.size(0)
                                      : o.w.size(0);
}

// Every second entry of the axis, from `first` on.
Sampled every_second(Axis axis, const Operands& o, int64_t first, bool scaled) {
  const int64_t length = length_of(axis, o);
  const auto index = at::arange(std::min(first, length), length, 2, at::kLong);
  return {.axis = axis,
          .index = index,
          .scale = scaled ? at::rand({index.numel()}) + 0.5 : at::Tensor()};
}

constexpr std::array kAxes = {Axis::kInputChannels, Axis::kOutputChannels, Axis::kExamples};

TEST(Sampled, EveryVariantAgreesWithTheDefinition) {
  for (auto& o : uneven_operands(8, 81)) {
    for (const auto axis : kAxes) {
      for (const bool scaled : {false, true}) {
        for (const int64_t first : {0, 1}) {
          const auto plan = every_second(axis, o, first, scaled);
          for (const auto product : kAllProducts) {
            o.product = product;
            expect_variants_agree(plan, o);
          }
        }
      }
    }
  }
}

// A factor halfway between two numbers of bf16, which would be wrong by a quarter of a percent if
// it were one of them. What it multiplies is rounded as coarsely, but up as often as down: the mean
// ratio over a thousand entries is the factor to a fifth of that.
TEST(Sampled, FactorsAreNotRoundedToTheOperandsPrecision) {
  at::manual_seed(83);
  Operands o{.x = at::randn({4, 24, 6, 6}),
             .w = at::randn({96, 24, 1, 1}),
             .dy = at::randn({4, 96, 6, 6}),
             .geometry = {},
             .product = Product::kWeightGradient,
             .input_sizes = {4, 24, 6, 6}};
  for (auto* tensor : {&o.x, &o.w, &o.dy}) *tensor = tensor->to(at::kBFloat16);
  const double factor = 1.64453;
  const Sampled plan{.axis = Axis::kOutputChannels,
                     .index = at::arange(0, 96, 2, at::kLong),
                     .scale = at::full({48}, factor, at::kFloat)};
  const Sampled plain{.axis = plan.axis, .index = plan.index, .scale = {}};
  for (const auto* variant : {"gather", "mask", "whole"}) {
    const auto scaled = run(plan, o, variant).to(at::kDouble).index_select(0, plan.index);
    const auto unscaled = run(plain, o, variant).to(at::kDouble).index_select(0, plan.index);
    EXPECT_NEAR((scaled / unscaled).mean().item<double>() / factor, 1, 0.0005) << variant;
  }
}

// A layer too narrow to gain from gathering channels multiplies with all of them.
TEST(Sampled, NarrowLayersAreComputedAsAWhole) {
  const auto taken = [](int64_t channels, int64_t kept) {
    auto o = random_operands({2, channels, 16, channels, 3, 1, 1});
    o.product = Product::kDataGradient;
    const Sampled plan{
        .axis = Axis::kInputChannels, .index = at::arange(0, kept, at::kLong), .scale = {}};
    std::string name;
    for (const auto& candidate : explain(plan, o)) {
      if (candidate.chosen) name = candidate.name;
    }
    EXPECT_TRUE(at::equal(run(plan, o), run(plan, o, name))) << name;
    return name;
  };
  EXPECT_EQ(taken(16, 8), "whole");
  EXPECT_EQ(taken(16, 1), "gather") << "hardly anything is left to multiply";
  EXPECT_EQ(taken(64, 32), "gather");
}

TEST(Sampled, AnEmptySampleGivesZeros) {
  auto o = uneven_operands(1, 82)[0];
  for (const auto axis : kAxes) {
    const Sampled plan{.axis = axis, .index = at::empty({0}, at::kLong), .scale = {}};
    for (const auto product : kAllProducts) {
      o.product = product;
      expect_variants_agree(plan, o);
      EXPECT_EQ(run(plan, o).abs().max().item<float>(), 0);
    }
  }
}

TEST(Sampled, TheSampledChannelsOfTheInputAreEnough) {
  for (auto& o : uneven_operands(15, 83, /*grouped=*/false)) {
    const auto plan = every_second(Axis::kInputChannels, o, 0, true);
    const auto whole = defined_result(plan, o);
    o.x = sampled_input(o.x, plan, o.geometry);
    EXPECT_EQ(o.x.size(1), plan.index.numel());
    expect_variants_agree(plan, o);
    EXPECT_CLOSE(defined_result(plan, o), whole);
  }
}

TEST(Sampled, OfOutputChannelsIsAPrunedGradient) {
  auto o = uneven_operands(1, 85, /*grouped=*/false)[0];
  o.dy.fill_(1);
  for (const auto product : kAllProducts) {
    for (const auto axis : kAxes) {
      o.product = product;
      const auto plan = every_second(axis, o, 0, /*scaled=*/true);
      const auto pruned = pruned_gradient(plan, o);
      ASSERT_EQ(pruned.replaces, axis == Axis::kOutputChannels && product != Product::kForward);
      if (!pruned.replaces) continue;
      EXPECT_EQ(pruned.kept, used_gradient(plan, o.dy).count_nonzero().item<int64_t>());
    }
  }
}

TEST(Sampled, WhatIsLeftOutLeavesNoTrace) {
  auto o = uneven_operands(1, 84, /*grouped=*/false)[0];
  const auto plan = every_second(Axis::kExamples, o, 0, false);
  o.dy = o.dy.repeat({2, 1, 1, 1}), o.x = o.x.repeat({2, 1, 1, 1});
  o.input_sizes = o.x.sizes().vec();
  o.dy[o.dy.size(0) - 1].fill_(INFINITY);
  for (const auto& variant : variants(plan, o)) {
    EXPECT_TRUE(at::isfinite(run(plan, o, variant)).all().item<bool>()) << variant;
  }
}

}  // namespace
}  // namespace approx
