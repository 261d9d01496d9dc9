#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

Quantized plan_of(Product product, Scales scales, bool by_chance) {
  return {.scales = scales,
          .by_chance = by_chance,
          .rng = {.seed = 7, .layer = 3, .step = 11, .product = product}};
}

template <typename Body>
void for_each_plan(Operands& o, Body body) {
  for (const auto product : kAllProducts) {
    o.product = product;
    for (const auto scales : {Scales::kSlices, Scales::kTensor}) {
      for (const bool by_chance : {false, true}) {
        SCOPED_TRACE(::testing::Message() << static_cast<int>(scales) << by_chance);
        body(plan_of(product, scales, by_chance));
      }
    }
  }
}

TEST(Quantized, EveryVariantAgreesWithTheDefinition) {
  for (auto& o : uneven_operands(60, 111)) {
    for_each_plan(o, [&](const Quantized& plan) { expect_variants_agree(plan, o); });
  }
}

// In another precision results are those of the same integers, up to the rounding of each.
void expect_agrees_in(at::ScalarType type, double tolerance, const Operands& whole) {
  Operands o = whole;
  for (auto* tensor : {&o.x, &o.w, &o.dy}) *tensor = tensor->to(type);
  for_each_plan(o, [&](const Quantized& plan) {
    const auto truth = defined_result(plan, o);
    for (const auto& variant : variants(plan, o)) {
      const auto result = run(plan, o, variant);
      EXPECT_EQ(result.scalar_type(), type);
      EXPECT_TRUE(close(result.to(at::kDouble), truth, tolerance)) << type << " " << variant;
    }
  });
}

constexpr double kInBf16 = 0.02;

// Several vectors of channels, parts of one, and more images than are computed together.
TEST(Quantized, AgreesForManyChannels) {
  for (const int64_t size : {1, 3, 4, 9}) {
    for (const auto& [ci, co] : {std::pair{16, 64}, std::pair{37, 130}, std::pair{80, 48}}) {
      for (const int64_t kernel : {1, 3}) {
        for (const int64_t stride : {1, 2}) {
          auto o = random_operands({.n = 9,
                                    .ci = ci,
                                    .size = size,
                                    .co = co,
                                    .kernel = kernel,
                                    .stride = stride,
                                    .padding = kernel / 2});
          for_each_plan(o, [&](const Quantized& plan) { expect_variants_agree(plan, o); });
          expect_agrees_in(at::kBFloat16, kInBf16, o);
        }
      }
    }
  }
}

// The weight gradient takes four images together on small maps. The last four may not be whole.
TEST(Quantized, AgreesForManyImages) {
  for (const int64_t images : {4, 8, 19, 43, 64}) {
    for (const auto& shape :
         {TestShape{images, 5, 7, 33, 3, 1, 1}, TestShape{images, 19, 9, 6, 3, 2, 1},
          TestShape{images, 20, 5, 17, 5, 3, 2}, TestShape{images, 70, 4, 70, 1, 1, 0},
          TestShape{images, 17, 16, 16, 2, 2, 0}}) {
      SCOPED_TRACE(shape);
      auto o = random_operands(shape);
      for_each_plan(o, [&](const Quantized& plan) { expect_variants_agree(plan, o); });
      expect_agrees_in(at::kBFloat16, kInBf16, o);
    }
  }
}

// More fours of images than are in the cache at once, so that a weight gradient is added up over
// several passes: one four each, several with a shorter last pass, and images one by one.
TEST(Quantized, AgreesForManyPasses) {
  for (const auto& shape : {TestShape{20, 17, 32, 64, 3, 1, 1}, TestShape{40, 17, 16, 64, 3, 1, 1},
                            TestShape{2, 8, 64, 64, 3, 1, 1}}) {
    SCOPED_TRACE(shape);
    auto o = random_operands(shape);
    o.product = Product::kWeightGradient;
    for (const bool by_chance : {false, true}) {
      expect_variants_agree(plan_of(o.product, Scales::kSlices, by_chance), o);
    }
    expect_agrees_in(at::kBFloat16, kInBf16, o);
  }
}

TEST(Quantized, WorksInEveryPrecision) {
  const std::vector<std::pair<at::ScalarType, double>> kinds = {
      {at::kDouble, 1e-6}, {at::kBFloat16, kInBf16}, {at::kHalf, 0.003}};
  for (const auto& whole : uneven_operands(20, 113)) {
    for (const auto& [type, tolerance] : kinds) expect_agrees_in(type, tolerance, whole);
  }
}

// By hand: scales of 1 and 2, and integers that are not rounded.
TEST(Quantized, RoundsToMultiplesOfTheLargestOver127) {
  Operands o{.x = at::tensor({127.0F, 1.4F, -2.5F, 3.5F}).view({2, 2, 1, 1}),
             .w = at::tensor({254.0F, 3.1F}).view({1, 2, 1, 1}),
             .dy = at::zeros({2, 1, 1, 1}),
             .geometry = {},
             .product = Product::kForward,
             .input_sizes = {2, 2, 1, 1}};
  // w becomes 254 and 4. The first example has the scale 1, the second 3.5 / 127 or, with the
  // others, 1: then -2.5 and 3.5 become the even numbers next to them.
  const auto slices = run(plan_of(o.product, Scales::kSlices, false), o);
  const double by = 3.5 / 127;
  EXPECT_CLOSE(slices.flatten(), at::tensor({127.0 * 254 + 4, by * -91 * 254 + 3.5 * 4}));
  const auto tensor = run(plan_of(o.product, Scales::kTensor, false), o);
  EXPECT_CLOSE(tensor.flatten(), at::tensor({127.0 * 254 + 4, -2.0 * 254 + 4 * 4}));
}

// dY is what it was on average, and rounded to nearest it is not.
TEST(Quantized, RoundsByChanceWithoutBias) {
  auto dy = at::full({1, 1, 100, 100}, 0.3F);
  dy.view(-1)[0] = 127;
  auto sum = at::zeros({});
  constexpr int64_t kDraws = 50;
  for (uint64_t step = 0; step < kDraws; ++step) {
    auto plan = plan_of(Product::kDataGradient, Scales::kTensor, true);
    plan.rng.step = step;
    sum += used_gradient(plan, dy).view(-1).slice(0, 1).mean();
  }
  // The standard error is sqrt(0.3 * 0.7 / (9,999 * 50)) = 0.00065.
  EXPECT_NEAR(sum.item<double>() / kDraws, 0.3, 0.003);
  const auto nearest = used_gradient(plan_of(Product::kDataGradient, Scales::kTensor, false), dy);
  EXPECT_EQ(nearest.view(-1).slice(0, 1).abs().max().item<float>(), 0);
}

TEST(Quantized, ZerosAndTinyNumbersGiveZero) {
  for (const float value : {0.0F, 1e-38F}) {
    for (auto& o : uneven_operands(5, 114)) {
      o.x.fill_(value);
      o.dy.fill_(value);
      for_each_plan(o, [&](const Quantized& plan) {
        for (const auto& variant : variants(plan, o)) {
          EXPECT_EQ(run(plan, o, variant).abs().max().item<float>(), 0) << variant;
        }
      });
    }
  }
}

// What is no finite number is seen in the result of its slice, by every variant.
TEST(Quantized, HidesNoNumberThatIsNotFinite) {
  auto o = random_operands(
      {.n = 3, .ci = 18, .size = 6, .co = 20, .kernel = 3, .stride = 1, .padding = 1});
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Operands with = o;
    with.x = o.x.clone();
    with.x.index_put_({1, 2, 3, 3}, at::scalar_tensor(bad));
    with.dy = o.dy.clone();
    with.dy.index_put_({1, 2, 3, 3}, at::scalar_tensor(bad));
    for_each_plan(with, [&](const Quantized& plan) {
      const bool whole = plan.scales == Scales::kTensor;
      for (const auto& variant : variants(plan, with)) {
        const auto result = run(plan, with, variant);
        const auto wrong = result.isfinite().logical_not();
        if (with.product == Product::kWeightGradient) {
          EXPECT_TRUE(wrong[2].all().item<bool>()) << variant;
          EXPECT_TRUE(wrong.select(1, 2).all().item<bool>()) << variant;
          EXPECT_EQ(wrong[3][3].all().item<bool>(), whole) << variant;
        } else {
          EXPECT_TRUE(wrong[1].all().item<bool>()) << variant;
          EXPECT_EQ(wrong[0].any().item<bool>(), whole) << variant;
        }
      }
    });
  }
}

TEST(Quantized, CountsAllMultiplications) {
  auto o = random_operands(
      {.n = 2, .ci = 6, .size = 8, .co = 4, .kernel = 3, .stride = 1, .padding = 1});
  for_each_plan(o, [&](const Quantized& plan) {
    EXPECT_EQ(plan_macs(plan, o), dense_macs(o));
    EXPECT_FALSE(pruned_gradient(plan, o).replaces);
  });
}

}  // namespace
}  // namespace approx
