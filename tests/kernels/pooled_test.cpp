#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

constexpr std::array kPooledProducts = {Product::kDataGradient, Product::kWeightGradient};

// An r x r patch, larger ones than most maps among them.
constexpr std::array<int64_t, 5> kSides = {1, 2, 3, 5, 1000};

TEST(Pooled, EveryVariantAgreesWithTheDefinition) {
  for (auto& o : uneven_operands(40, 91)) {
    for (const auto product : kPooledProducts) {
      o.product = product;
      for (const int64_t r : kSides) {
        SCOPED_TRACE(r);
        expect_variants_agree(Pooled{r}, o);
      }
    }
  }
}

TEST(Pooled, ServesBothGradientsAndNoForwardProduct) {
  auto o = uneven_operands(1, 92)[0];
  o.product = Product::kForward;
  EXPECT_TRUE(variants(Pooled{2}, o).empty());
  EXPECT_THROW(run(Pooled{2}, o), Error);
}

TEST(Pooled, WorksInEveryPrecision) {
  const std::vector<std::pair<at::ScalarType, double>> kinds = {
      {at::kDouble, 1e-12}, {at::kBFloat16, 0.02}, {at::kHalf, 0.003}};
  for (const auto& whole : uneven_operands(12, 93)) {
    for (const auto& [type, tolerance] : kinds) {
      Operands o = whole;
      for (auto* tensor : {&o.x, &o.w, &o.dy}) *tensor = tensor->to(type);
      for (const auto product : kPooledProducts) {
        o.product = product;
        const auto result = run(Pooled{2}, o);
        EXPECT_EQ(result.scalar_type(), type);
        EXPECT_TRUE(close(result.to(at::kDouble), defined_result(Pooled{2}, o), tolerance))
            << type << " " << name(product);
      }
    }
  }
}

// The result does not depend on how the operands lie, and has the channels last.
TEST(Pooled, TakesAnyLayout) {
  for (auto o : uneven_operands(8, 94)) {
    for (const auto product : kPooledProducts) {
      o.product = product;
      const auto wanted = defined_result(Pooled{3}, o);
      for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
        Operands laid = o;
        for (auto* tensor : {&laid.x, &laid.w, &laid.dy}) *tensor = tensor->contiguous(format);
        const auto result = run(Pooled{3}, laid);
        EXPECT_CLOSE(result, wanted);
        EXPECT_TRUE(result.is_contiguous(at::MemoryFormat::ChannelsLast));
      }
    }
  }
}

TEST(Pooled, APatchLargerThanTheMapIsTheMap) {
  auto o = random_operands(
      {.n = 2, .ci = 3, .size = 7, .co = 4, .kernel = 3, .stride = 1, .padding = 1});
  for (const auto product : kPooledProducts) {
    o.product = product;
    EXPECT_TRUE(at::equal(run(Pooled{7}, o), run(Pooled{8}, o)));
    EXPECT_TRUE(at::equal(run(Pooled{7}, o), run(Pooled{INT64_MAX}, o)));
    EXPECT_FALSE(at::equal(run(Pooled{7}, o), run(Pooled{6}, o)));
  }
}

// dY at the resolution of patches: the means, at all their outputs.
TEST(Pooled, UsesTheMeansOfPatches) {
  const auto dy = at::arange(1, 10, at::kFloat).view({1, 1, 3, 3});
  // The patches begin a pixel before the map.
  const auto means = at::tensor({1.0F, 2.5F, 2.5F, 5.5F, 7.0F, 7.0F, 5.5F, 7.0F, 7.0F});
  EXPECT_CLOSE(used_gradient(Pooled{2}, dy), means.view({1, 1, 3, 3}));
  EXPECT_CLOSE(used_gradient(Pooled{1}, dy), dy);
  EXPECT_CLOSE(used_gradient(Pooled{3}, dy), at::full_like(dy, 5));
}

TEST(Pooled, CountsOneTapOfEachPatch) {
  auto o = random_operands(
      {.n = 2, .ci = 6, .size = 8, .co = 4, .kernel = 3, .stride = 1, .padding = 1, .groups = 2});
  const auto macs = [&](int64_t r) { return plan_macs(Pooled{r}, o); };
  EXPECT_EQ(macs(2) * 36, dense_macs(o));
  EXPECT_EQ(macs(1) * 9, dense_macs(o));
  EXPECT_EQ(macs(3), 2 * 3 * 3 * 4 * 3);  // three patches in each direction
  EXPECT_EQ(macs(8), 2 * 4 * 3);
  EXPECT_EQ(macs(9), macs(8));
  const auto pruned = pruned_gradient(Pooled{2}, o);
  EXPECT_TRUE(pruned.replaces);
  EXPECT_EQ(pruned.kept * 4, o.dy.numel());
}

}  // namespace
}  // namespace approx
