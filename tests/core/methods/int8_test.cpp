// int8: what its parameters do to the gradients of a layer. Products of integers are held to their
// definition in tests/kernels/quantized_test.cpp.
#include <gtest/gtest.h>

#include "base/error.h"
#include "core/methods/method.h"
#include "kernels/kernel.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

Operands operands() {
  return random_operands(
      {.n = 4, .ci = 12, .size = 6, .co = 20, .kernel = 3, .stride = 1, .padding = 1});
}

at::Tensor result_of(const std::string& text, const Operands& o, uint64_t step = 0) {
  const Rng rng{.seed = 5, .layer = 1, .step = step, .product = o.product};
  return run(make_method(text)->plan(o, {.rng = rng}), o);
}

double relative_error(const at::Tensor& of, const at::Tensor& exact) {
  return ((of - exact).norm() / exact.norm()).item<double>();
}

// By the sizes of the errors: a number in [-1, 1] of 255 levels is off by 1 / (127 sqrt(12)), and
// by chance by up to 1 / (127 sqrt(6)). Both operands have such an error. The largest of a slice is
// some three times the standard deviation: together about 0.015.
TEST(Int8, IsNearTheExactProduct) {
  auto o = operands();
  for (const auto product : {Product::kForward, Product::kDataGradient, Product::kWeightGradient}) {
    o.product = product;
    const auto exact = run(Dense{}, o);
    for (const auto* text :
         {"int8:min_uses=0", "int8:min_uses=0,scales=tensor", "int8:min_uses=0,rounding=nearest"}) {
      const double error = relative_error(result_of(text, o), exact);
      EXPECT_LT(error, 0.03) << text;
      EXPECT_GT(error, 0.001) << text;
    }
  }
}

// A mean over draws comes closer to the product of the rounded x and w with the whole dY. To
// nearest there is one result.
TEST(Int8, RoundingByChanceAveragesOut) {
  auto o = operands();
  // Most of dY lies below half a scale.
  o.dy = o.dy * 0.001;
  o.dy[0][0][0][0] = 1;
  constexpr int64_t kDraws = 400;
  for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
    SCOPED_TRACE(name(product));
    o.product = product;
    const auto exact = run(Dense{}, o);
    auto sum = at::zeros_like(exact);
    for (uint64_t step = 0; step < kDraws; ++step) {
      sum += result_of("int8:min_uses=0,scales=tensor", o, step);
    }
    const auto once = result_of("int8:min_uses=0,scales=tensor", o);
    EXPECT_FALSE(at::equal(once, result_of("int8:min_uses=0,scales=tensor", o, 1)));
    // What the large number has no part in: the other images' dX, the other channels' dW. One draw
    // is off by e and the mean by e / 20, apart from the rounding of the other operand.
    const auto small = [](const at::Tensor& result) { return result.slice(0, 1); };
    EXPECT_LT(relative_error(small(sum / kDraws), small(exact)),
              0.1 * relative_error(small(once), small(exact)) + 0.02);
    const std::string nearest = "int8:min_uses=0,scales=tensor,rounding=nearest";
    EXPECT_TRUE(at::equal(result_of(nearest, o), result_of(nearest, o, 1)));
  }
}

// A slice with large numbers leaves those of others alone.
TEST(Int8, SlicesHaveScalesOfTheirOwn) {
  auto o = operands();
  o.product = Product::kForward;
  o.x[0] = o.x[0] * 1e4;
  const auto exact = run(Dense{}, o);
  const auto error_of_others = [&](const std::string& text) {
    return relative_error(result_of(text, o).slice(0, 1), exact.slice(0, 1));
  };
  EXPECT_LT(error_of_others("int8:min_uses=0"), 0.03);
  EXPECT_EQ(error_of_others("int8:min_uses=0,scales=tensor"), 1);  // all of them are zero
}

// Multiplications for each number of the largest tensor: 3x3 layers of 23 channels have 207 for a
// number of dY, and of 22 channels 198. A stride of two leaves a quarter for a number of x, a
// linear layer as many for a weight as it has examples.
TEST(Int8, LeavesLayersExactThatRoundingDoesNotPayFor) {
  const auto is_exact = [](const TestShape& shape, const std::string& text = "int8") -> bool {
    auto o = random_operands(shape);
    std::vector<bool> exact;
    for (const auto product :
         {Product::kForward, Product::kDataGradient, Product::kWeightGradient}) {
      o.product = product;
      exact.push_back(std::holds_alternative<Dense>(make_method(text)->plan(o, {})));
    }
    EXPECT_TRUE(exact[0] == exact[1] && exact[1] == exact[2]);
    return exact[0];
  };
  TestShape shape{.n = 4, .ci = 23, .size = 16, .co = 32, .kernel = 3, .stride = 1, .padding = 1};
  EXPECT_FALSE(is_exact(shape));
  shape.ci = 22;
  EXPECT_TRUE(is_exact(shape));
  EXPECT_FALSE(is_exact(shape, "int8:min_uses=198"));
  shape = {.n = 4, .ci = 64, .size = 16, .co = 64, .kernel = 3, .stride = 2, .padding = 1};
  EXPECT_TRUE(is_exact(shape));
  shape.co = 128;
  EXPECT_FALSE(is_exact(shape));
  shape = {.n = 199, .ci = 512, .size = 1, .co = 256, .kernel = 1, .stride = 1, .padding = 0};
  EXPECT_TRUE(is_exact(shape));
  shape.n = 200;
  EXPECT_FALSE(is_exact(shape));
}

TEST(Int8, RefusesOtherChoices) {
  for (const auto* text :
       {"int8:scales=rows", "int8:rounding=down", "int8:bits=4", "int8:min_uses=-1"}) {
    EXPECT_THROW(make_method(text), Error) << text;
  }
}

TEST(Int8, NeverWaitsAndHasNoMemory) {
  const auto method = make_method("int8");
  EXPECT_EQ(method->waits_for(), "");
  EXPECT_EQ(method->memory(), nullptr);
}

}  // namespace
}  // namespace approx
