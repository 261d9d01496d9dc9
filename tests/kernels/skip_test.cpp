#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

TEST(Skip, EveryVariantGivesZerosOrNothing) {
  for (const auto& o : uneven_operands(5, 61)) {
    expect_variants_agree(Skip{}, o);
    EXPECT_EQ(run(Skip{}, o).abs().max().item<float>(), 0);
    EXPECT_EQ(run(Skip{}, o).sizes(), o.w.sizes());
    expect_variants_agree(Skip{.freeze = true}, o);
    EXPECT_FALSE(run(Skip{.freeze = true}, o).defined());
  }
}

TEST(Skip, ServesBothGradientsAndNoForwardProduct) {
  auto o = uneven_operands(1, 62)[0];
  const auto input = o.x.sizes().vec();
  o.product = Product::kDataGradient;
  o.input_sizes = input;
  expect_variants_agree(Skip{}, o);
  EXPECT_EQ(run(Skip{}, o).sizes(), at::IntArrayRef(input));
  EXPECT_EQ(run(Skip{}, o).abs().max().item<float>(), 0);
  o.product = Product::kForward;
  EXPECT_TRUE(variants(Skip{}, o).empty());
  EXPECT_THROW(run(Skip{}, o), Error);
}

}  // namespace
}  // namespace approx
