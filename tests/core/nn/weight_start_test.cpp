#include "core/nn/weight_start.h"

#include <torch/nn/modules/conv.h>

#include <cmath>

#include "core/networks/network.h"
#include "core/nn/layers.h"
#include "core/train/session.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

constexpr ConvOptions kGrouped{
    .in_channels = 12, .out_channels = 30, .kernel = 5, .groups = 2, .bias = true};

Conv started_by(WeightStart start) {
  at::manual_seed(5);
  const WeightStartScope scope(start);
  return Conv(kGrouped);
}

// The values are those of torch::nn::Conv2d from the same seed, which lie in another order.
TEST(WeightStart, OfPytorchIsThatOfItsConvolutions) {
  const auto ours = started_by(WeightStart::kPytorch);
  at::manual_seed(5);
  const torch::nn::Conv2d theirs(torch::nn::Conv2dOptions(12, 30, 5).groups(2));
  const auto sorted = [](const at::Tensor& t) { return std::get<0>(t.detach().flatten().sort()); };
  EXPECT_TRUE(close(sorted(ours->weight), sorted(theirs->weight), 1e-6));
  EXPECT_TRUE(close(ours->bias, theirs->bias, 1e-6));
  const double bound = 1 / std::sqrt(6.0 * 25);
  EXPECT_LE(ours->weight.abs().max().item<double>(), bound);
  EXPECT_GT(ours->weight.abs().max().item<double>(), 0.99 * bound);
  EXPECT_TRUE(ours->weight.requires_grad());
  EXPECT_TRUE(ours->weight.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST(WeightStart, OfTheFanOutIsTheDefault) {
  const auto conv = started_by(WeightStart::kFanOut);
  at::manual_seed(5);
  const Conv plain(kGrouped);
  EXPECT_TRUE(at::equal(conv->weight, plain->weight));
  EXPECT_NEAR(conv->weight.std().item<double>(), std::sqrt(2.0 / (30 * 25)), 2e-3);
  EXPECT_EQ(conv->bias.abs().max().item<double>(), 0);
}

TEST(WeightStart, EndsWithItsScope) {
  const auto uniform = started_by(WeightStart::kPytorch)->weight,
             normal = started_by(WeightStart::kFanOut)->weight;
  {
    const WeightStartScope outer(WeightStart::kPytorch);
    { const WeightStartScope inner(WeightStart::kFanOut); }
    at::manual_seed(5);
    EXPECT_TRUE(at::equal(Conv(kGrouped)->weight, uniform));
  }
  at::manual_seed(5);
  EXPECT_TRUE(at::equal(Conv(kGrouped)->weight, normal));
}

TEST(WeightStart, IsTheRecipes) {
  const auto dataset = toy_dataset();
  auto config = toy_run("dense", "", 1);
  const auto first_weights = [&] {
    return Session(config, dataset).network().parameters().front().detach().clone();
  };
  const auto fan_out = first_weights();
  EXPECT_TRUE(at::equal(fan_out, make_network(config.network, {1, 8, 2}, 0)->parameters().front()));
  config.recipe.init = WeightStart::kPytorch;
  const auto uniform = first_weights();  // [4,1,3,3]
  EXPECT_FALSE(at::equal(fan_out, uniform));
  EXPECT_LE(uniform.abs().max().item<double>(), 1.0 / 3);
  EXPECT_GT(fan_out.abs().max().item<double>(), 1.0 / 3) << "the test could not fail";
}

}  // namespace
}  // namespace approx
