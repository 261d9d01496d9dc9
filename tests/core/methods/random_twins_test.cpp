// uniform_crs, random_entries and random_position, and that every method which says that one of
// them controls it is right.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "core/methods/method.h"
#include "kernels/kernel.h"
#include "kernels/plan_traits.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

Rng at_step(int64_t step) { return {.seed = 5, .layer = 1, .step = static_cast<uint64_t>(step)}; }

Operands weight_gradient_of(const at::Tensor& dy) {
  auto o = operands_with_dy(dy);
  o.product = Product::kWeightGradient;
  return o;
}

// Each of 8 pairs is taken in 3 of 8 draws: over 4,000 draws 1,500 times, give or take 31.
TEST(UniformCrs, TakesEveryPairEquallyOftenAndNoneTwice) {
  const auto method = make_method("uniform_crs:ratio=0.4,mode=black_box");  // floor(3.2)
  auto o = random_operands(
      {.n = 2, .ci = 8, .size = 3, .co = 2, .kernel = 1, .stride = 1, .padding = 0});
  o.product = Product::kForward;
  std::vector<int> taken(8);
  for (int64_t step = 0; step < 4000; ++step) {
    const auto plan = std::get<Sampled>(method->plan(o, {.rng = at_step(step)}));
    ASSERT_EQ(plan.index.numel(), 3);
    std::set<int64_t> once;
    for (int64_t i = 0; i < 3; ++i) once.insert(plan.index[i].item<int64_t>());
    ASSERT_EQ(once.size(), 3u);
    for (const auto index : once) ++taken[static_cast<size_t>(index)];
    EXPECT_FLOAT_EQ(plan.scale[0].item<float>(), 8.f / 3);
  }
  for (const int count : taken) EXPECT_NEAR(count, 1500, 4.5 * std::sqrt(4000 * 3. / 8 * 5 / 8));
}

TEST(UniformCrs, WithAllPairsIsExact) {
  auto o = random_operands(
      {.n = 2, .ci = 4, .size = 4, .co = 3, .kernel = 1, .stride = 1, .padding = 0});
  o.product = Product::kForward;
  EXPECT_TRUE(std::holds_alternative<Dense>(
      make_method("uniform_crs:ratio=1,mode=black_box")->plan(o, {.rng = at_step(0)})));
}

TEST(RandomEntries, KeepsTheShareAskedForWithoutBias) {
  const auto dy = at::full({4, 8, 16, 16}, 3.0);
  const auto o = weight_gradient_of(dy);
  const auto pruned = [&](const std::string& text) {
    return std::get<PrunedDY>(make_method(text)->plan(o, {.rng = at_step(1)}));
  };
  const auto quarter = pruned("random_entries:ratio=0.25");
  const double n = static_cast<double>(dy.numel());
  EXPECT_NEAR(quarter.kept.item<double>(), n / 4, 4.5 * std::sqrt(n * 0.25 * 0.75));
  EXPECT_CLOSE(quarter.dy.max(), at::scalar_tensor(12.0));
  EXPECT_NEAR(quarter.dy.mean().item<double>(), 3, 4.5 * 12 * std::sqrt(0.25 * 0.75 / n));
  // 512 of an example's 2,048 entries are the same share.
  EXPECT_CLOSE(pruned("random_entries:k=512").dy, quarter.dy);
  EXPECT_TRUE(std::holds_alternative<Dense>(
      make_method("random_entries:ratio=1")->plan(o, {.rng = at_step(1)})));
}

TEST(RandomEntries, OneChoiceOfChannelsForTheBatch) {
  const auto o = weight_gradient_of(at::ones({2, 6, 4, 4}));
  const auto plan =
      std::get<Sampled>(make_method("random_entries:k=2,per=batch")->plan(o, {.rng = at_step(3)}));
  EXPECT_EQ(plan.axis, Axis::kOutputChannels);
  EXPECT_EQ(plan.index.numel(), 2);
  EXPECT_CLOSE(plan.scale, at::full({2}, 3.0));
}

TEST(RandomPosition, CarriesThePlanesSumAtDrawnPlaces) {
  const auto dy = at::rand({50, 40, 4, 4});
  const auto o = weight_gradient_of(dy);
  const auto one = std::get<SparseDY>(make_method("random_position")->plan(o, {.rng = at_step(0)}));
  EXPECT_CLOSE(one.value.view({50, 40}), dy.sum({2, 3}));
  // 2,000 planes, 16 places: 125 each, give or take 11.
  const auto counts = at::bincount(one.position.to(at::kLong), {}, 16);
  EXPECT_GT(counts.min().item<int64_t>(), 125 - 50);
  EXPECT_LT(counts.max().item<int64_t>(), 125 + 50);

  const auto three =
      std::get<SparseDY>(make_method("random_position:k=3")->plan(o, {.rng = at_step(0)}));
  EXPECT_CLOSE(three.value.view({50, 40, 3}).sum(-1), dy.sum({2, 3}));
  const auto sorted = std::get<0>(three.position.view({2000, 3}).sort(-1));
  EXPECT_TRUE((sorted.slice(1, 1) > sorted.slice(1, 0, 2)).all().item<bool>()) << "none twice";
}

// What stands beside a method as its control does as much work on the same products.
TEST(RandomTwins, KeepAsMuchOfTheSameProducts) {
  int controlled = 0;
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    if (entry->random_twin.empty()) continue;
    SCOPED_TRACE(entry->name);
    ++controlled;
    const auto& twin = Registry<MethodEntry>::instance().find(parse_spec(entry->random_twin).name);
    for (const auto product : entry->products) {
      EXPECT_NE(std::find(twin.products.begin(), twin.products.end(), product),
                twin.products.end());
    }
    // Drawn with replacement, a pair may come twice; and some densities are the data's.
    if (entry->twin_by_density || entry->name == "crs" || entry->name == "bernoulli_crs" ||
        entry->name == "wta_crs")
      continue;
    // Some say their share by `ratio`, which they pass on.
    const std::map<std::string, std::string> with_ratio = {
        {"msbp", "random_entries:ratio=0.04"},
        {"channel_drop", "random_entries:per=batch,ratio=0.2"}};
    const auto passed = with_ratio.find(entry->name);
    const auto theirs =
        make_method(passed == with_ratio.end() ? entry->random_twin : passed->second);
    auto o = random_operands(
        {.n = 64, .ci = 16, .size = 8, .co = 16, .kernel = 3, .stride = 1, .padding = 1});
    const auto ours = make_method(entry->name);
    for (const auto product : entry->products) {
      if (entry->name == "topk_weights" && product != Product::kForward) continue;
      o.product = product;
      const Rng rng{.seed = 1, .layer = 2, .step = 3, .product = product};
      const auto macs = [&](Method& method) {
        const auto plan = plan_as_layer(method, entry->products, o, rng).plan;
        return static_cast<double>(plan_macs(plan, o)) / static_cast<double>(dense_macs(o));
      };
      const double kept = macs(*ours);
      EXPECT_NEAR(macs(*theirs), kept, 0.1 * kept + 1e-9) << name(product);
    }
  }
  EXPECT_GE(controlled, 8);
}

}  // namespace
}  // namespace approx
