// zero and random of Wang et al. 2019; topk_position has a file of its own.
#include <cmath>

#include "core/methods/method.h"
#include "tests/testing.h"

namespace approx {
namespace {

at::Tensor weight_gradient(const std::string& method, const Rng& rng = {}) {
  const auto operands = random_operands({4, 16, 8, 64, 3, 1, 1});
  return run(make_method(method)->plan(operands, {.rng = rng}), operands);
}

TEST(Zero, IsZeroAndFrozenIsNone) {
  EXPECT_EQ(weight_gradient("zero").abs().max().item<float>(), 0);
  EXPECT_EQ(weight_gradient("zero").sizes(), (std::vector<int64_t>{64, 16, 3, 3}));
  EXPECT_FALSE(weight_gradient("zero:freeze=true").defined());
}

TEST(Random, HasThePapersStandardDeviationByDefault) {
  const auto draws = weight_gradient("random");
  const auto n = static_cast<double>(draws.numel());
  // Five standard errors: a false alarm in about a million seeds, and the seed is fixed.
  EXPECT_NEAR(draws.mean().item<double>() * 128, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(draws.std().item<double>() * 128, 1, 5 / std::sqrt(2 * n));
}

TEST(Random, IsFreshAtEveryStepLayerAndSeed) {
  const auto base = weight_gradient("random", {.seed = 1, .layer = 1, .step = 1});
  EXPECT_TRUE(at::equal(base, weight_gradient("random", {.seed = 1, .layer = 1, .step = 1})));
  for (const Rng& other :
       {Rng{.seed = 2, .layer = 1, .step = 1}, Rng{.seed = 1, .layer = 2, .step = 1},
        Rng{.seed = 1, .layer = 1, .step = 2}}) {
    const auto draws = weight_gradient("random", other);
    // Independent draws agree nowhere near: their correlation is within 5 standard errors of 0.
    const double correlation = (base * draws).mean().item<double>() * 128 * 128;
    EXPECT_LT(std::abs(correlation), 5 / std::sqrt(static_cast<double>(draws.numel())));
  }
}

// Gradients of half precision are scaled, and divided by the scale again in float: the draws that
// the optimizer sees have the deviation asked for, even one that half precision does not know.
TEST(Random, KeepsItsDeviationUnderALossScale) {
  auto operands = random_operands({4, 16, 8, 64, 3, 1, 1});
  for (const auto type : {at::kFloat, at::kHalf}) {
    for (auto* tensor : {&operands.x, &operands.w, &operands.dy}) *tensor = tensor->to(type);
    for (const auto& [text, stddev] : {std::pair{"random", 1.0 / 128}, {"random:std=1e-8", 1e-8}}) {
      const MethodCall call{.rng = {.seed = 2}, .loss_scale = at::scalar_tensor(65536.0f)};
      const auto scaled = run(make_method(text)->plan(operands, call), operands);
      EXPECT_EQ(scaled.scalar_type(), type);
      const auto seen = scaled.to(at::kFloat) / 65536;
      const auto n = static_cast<double>(seen.numel());
      EXPECT_NEAR(seen.std().item<double>() / stddev, 1, 5 / std::sqrt(2 * n)) << text << type;
      const auto without = run(make_method(text)->plan(operands, {.rng = {.seed = 2}}), operands);
      if (type == at::kFloat) {
        EXPECT_TRUE(at::equal(seen, without)) << text;
      }
    }
  }
}

// The optimizer sees the mean over the ranks: of draws of their own it would have this deviation
// over the root of their number.
TEST(Random, IsAlikeOnAllRanks) {
  const auto alone = weight_gradient("random", {.seed = 3, .layer = 2, .step = 5});
  for (const uint32_t rank : {1, 2, 7}) {
    const auto draws = weight_gradient("random", {.seed = 3, .layer = 2, .step = 5, .rank = rank});
    EXPECT_TRUE(at::equal(draws, alone)) << rank;
  }
}

TEST(Random, DoesNotLookAtItsOperands) {
  auto operands = random_operands({2, 3, 5, 7, 3, 1, 1});
  const auto before = run(make_method("random")->plan(operands, {}), operands);
  operands.dy.mul_(1000);
  EXPECT_TRUE(at::equal(before, run(make_method("random")->plan(operands, {}), operands)));
}

}  // namespace
}  // namespace approx
