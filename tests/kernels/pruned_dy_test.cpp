#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

PrunedDY random_pruned(const Operands& o) {
  const auto dy = o.dy * (at::rand_like(o.dy) < 0.3);
  return {dy, dy.count_nonzero()};
}

TEST(PrunedDY, EveryVariantAgreesWithTheDefinition) {
  for (auto& o : uneven_operands(20, 71)) {
    const auto plan = random_pruned(o);
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      o.product = product;
      expect_variants_agree(plan, o);
    }
  }
}

TEST(PrunedDY, IsTheExactProductOfTheTensorInItsPlace) {
  auto o = uneven_operands(1, 72)[0];
  const auto plan = random_pruned(o);
  Operands replaced = o;
  replaced.dy = plan.dy;
  for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
    o.product = replaced.product = product;
    EXPECT_TRUE(at::equal(run(plan, o), run(Dense{}, replaced))) << name(product);
  }
  EXPECT_EQ(plan_macs(plan, o), plan.kept.item<int64_t>() * o.w[0].numel());
  EXPECT_TRUE(used_gradient(plan, o.dy).is_same(plan.dy));
}

TEST(PrunedDY, LinearLayersAndTapsTakeOurOwnExactProducts) {
  for (const auto& shape : {TestShape{64, 128, 2, 160, 3, 1, 1}, TestShape{5, 7, 1, 3, 1, 1, 0}}) {
    auto o = random_operands(shape);
    const auto plan = random_pruned(o);
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      o.product = product;
      expect_variants_agree(plan, o);
    }
  }
}

}  // namespace
}  // namespace approx
