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
