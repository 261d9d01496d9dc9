// What every registered method must keep, whatever it is: a new method is held to this without a
// line of test.
#include <cmath>

#include "core/method.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

struct Case {
  const MethodEntry* entry;
  Product product;
  TestShape shape;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    for (const auto product : entry->products) {
      for (const auto& shape : conv_shapes()) all.push_back({entry, product, shape});
    }
  }
  return all;
}

class MethodContract : public testing::TestWithParam<Case> {};

TEST_P(MethodContract, EqualDrawsGiveEqualFiniteResultsOnEveryVariant) {
  const auto& [entry, product, shape] = GetParam();
  auto operands = random_operands(shape);
  operands.product = product;
  const Rng rng{.seed = 11, .layer = 3, .step = 5, .product = product};
  const auto method = make_method(entry->name), twin = make_method(entry->name);
  if (method->keep() == Method::Keep::kNothing && product == Product::kWeightGradient)
    operands.x = at::Tensor();

  const auto planned = plan_as_layer(*method, entry->products, operands, rng);
  const Plan plan = planned.plan;
  const Plan again = plan_as_layer(*twin, entry->products, operands, rng).plan;
  const auto result = run(plan, operands), repeated = run(again, operands);
  ASSERT_TRUE(result.defined());  // no method freezes by default
  EXPECT_TRUE(at::equal(result, repeated));
  EXPECT_TRUE(at::isfinite(result).all().item<bool>());
  const auto& like = product == Product::kWeightGradient ? operands.w
                     : product == Product::kDataGradient ? random_operands(shape).x
                                                         : operands.dy;
  EXPECT_EQ(result.sizes(), like.sizes());
  const auto* sampled = std::get_if<Sampled>(&plan);
  const bool nothing = sampled != nullptr && sampled->index.numel() == 0;  // by chance
  if (!std::holds_alternative<Skip>(plan) && !nothing) {
    EXPECT_GT(result.abs().max().item<double>(), 0);
  }
  for (const auto& variant : variants(plan, operands)) {
    EXPECT_CLOSE(run(plan, operands, variant), result) << variant;
  }
  EXPECT_GE(plan_macs(plan, operands), 0);
  EXPECT_LE(plan_macs(plan, operands), dense_macs(operands));
}

TEST_P(MethodContract, ZeroGradientsStayFinite) {
  const auto& [entry, product, shape] = GetParam();
  auto operands = random_operands(shape);
  operands.product = product;
  operands.dy = at::zeros_like(operands.dy);
  const auto method = make_method(entry->name);
  const Rng rng{.product = product};
  const auto plan = plan_as_layer(*method, entry->products, operands, rng).plan;
  const auto result = run(plan, operands);
  EXPECT_TRUE(at::isfinite(result).all().item<bool>());
}

TEST_P(MethodContract, LeavesItsOperandsAlone) {
  const auto& [entry, product, shape] = GetParam();
  auto operands = random_operands(shape);
  operands.product = product;
  const auto x = operands.x.clone(), w = operands.w.clone(), dy = operands.dy.clone();
  const auto method = make_method(entry->name);
  const Rng rng{.product = product};
  run(plan_as_layer(*method, entry->products, operands, rng).plan, operands);
  EXPECT_TRUE(at::equal(x, operands.x) && at::equal(w, operands.w) && at::equal(dy, operands.dy));
}

INSTANTIATE_TEST_SUITE_P(Every, MethodContract, testing::ValuesIn(cases()), [](const auto& info) {
  return fmt::format("{}_{}_{}", info.param.entry->name, name(info.param.product), info.index);
});

TEST(MethodContract, EveryEntrySaysWhatItIs) {
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    EXPECT_FALSE(entry->summary.empty()) << entry->name;
    EXPECT_FALSE(entry->products.empty()) << entry->name;
    for (const auto& param : entry->params) EXPECT_FALSE(param.help.empty()) << param.name;
  }
}

}  // namespace
}  // namespace approx
