// vcas, held to the formulas of its head comment in plain loops.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/methods/method.h"
#include "tests/core/methods/error_of_draws.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

// The chances of examples with these scores: the largest stay for sure while their share of the
// rest would be 1 or more. The others share the places that are left.
std::vector<double> example_chances(const std::vector<double>& scores, int64_t k) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<double> chance(scores.size(), 0);
  auto places = static_cast<double>(k);
  for (size_t i = 0; i < order.size() && places > 0; ++i) {
    double rest = 0;
    for (size_t j = order.size(); j-- > i;) rest += scores[order[j]];
    if (scores[order[i]] == 0) break;
    if (scores[order[i]] * places >= rest) {
      chance[order[i]] = 1;
      places -= 1;
      continue;
    }
    for (size_t j = i; j < order.size(); ++j) chance[order[j]] = places * scores[order[j]] / rest;
    break;
  }
  return chance;
}

double example_draw(const Rng& rng, size_t i) {
  const auto number = static_cast<uint32_t>(i);
  return Rng::uniform(rng.block(number / 4)[number % 4]);
}

// The factors of all examples, 0 for those that are left out.
std::vector<double> example_factors(const std::vector<double>& scores, int64_t k, const Rng& rng) {
  const auto chance = example_chances(scores, k);
  std::vector<double> factor(scores.size(), 0);
  for (size_t i = 0; i < scores.size(); ++i) {
    if (example_draw(rng, i) < chance[i]) factor[i] = 1 / chance[i];
  }
  return factor;
}

int64_t kept_of(int64_t count, double ratio) {
  return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(count) * ratio));
}

at::Tensor product_of_sample(const Operands& o, const std::vector<double>& factor) {
  const auto dy = reference::scaled(reference::Array(o.dy), 0, factor);
  if (o.product == Product::kDataGradient) {
    return reference::data_gradient(reference::Array(o.w), dy, o.geometry, o.input_sizes).tensor();
  }
  return reference::weight_gradient(reference::Array(o.x), dy, o.geometry, o.w.sizes().vec())
      .tensor();
}

// Some examples weigh far more than others.
Operands uneven_batch(int64_t examples, uint64_t seed, int64_t size = 5) {
  auto o = random_operands({examples, 3, size, 5, size > 1 ? 3 : 1, 1, size > 1 ? 1 : 0}, seed);
  for (int64_t i = 0; i < examples; i += 3) o.dy[i].mul_(20);
  return o;
}

std::vector<double> factors_in(const Plan& plan, int64_t examples) {
  std::vector<double> factor(static_cast<size_t>(examples), 0);
  const auto& sampled = std::get<Sampled>(plan);
  EXPECT_EQ(sampled.axis, Axis::kExamples);
  for (int64_t i = 0; i < sampled.index.numel(); ++i) {
    factor[static_cast<size_t>(sampled.index[i].item<int64_t>())] =
        sampled.scale.defined() ? sampled.scale[i].item<double>() : 1;
  }
  return factor;
}

constexpr Product kSampledGradients[] = {Product::kDataGradient, Product::kWeightGradient};

Rng vcas_draws(uint64_t seed, Product product) {
  return {.seed = seed, .layer = 2, .step = 3, .product = product};
}

// Both gradients are those of one sample of dY, for any number of examples, in small and large
// groups.
TEST(Vcas, IsWhatItsDrawsSay) {
  for (const int64_t examples : {1, 2, 5, 16, 33}) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      for (const double ratio : {0.1, 0.4, 0.75}) {
        SCOPED_TRACE(fmt::format("{} examples, seed {}, ratio {}", examples, seed, ratio));
        auto o = uneven_batch(examples, seed);
        const auto text = fmt::format("vcas:ratio={}", ratio);
        const auto k = kept_of(examples, ratio);
        const auto factor = k >= examples
                                ? std::vector<double>(static_cast<size_t>(examples), 1)
                                : example_factors(reference::norms(reference::Array(o.dy), 0), k,
                                                  vcas_draws(seed, Product::kDataGradient));
        for (const auto product : kSampledGradients) {
          o.product = product;
          const auto plan = make_method(text)->plan(o, {.rng = vcas_draws(seed, product)});
          EXPECT_EQ(std::holds_alternative<Dense>(plan), k >= examples);
          EXPECT_CLOSE(run(plan, o), product_of_sample(o, factor));
          for (const auto& variant : variants(plan, o)) {
            EXPECT_CLOSE(run(plan, o, variant), product_of_sample(o, factor)) << variant;
          }
        }
      }
    }
  }
}

// What the published code computes, for these norms and k.
TEST(Vcas, ChancesAreThoseOfThePublishedCode) {
  struct PublishedCase {
    std::vector<float> norms;
    double ratio;
    std::vector<double> chances;
  };
  const std::vector<PublishedCase> cases = {
      {{1, 2, 3, 10}, 0.5, {1.0 / 6, 1.0 / 3, 0.5, 1}},
      {{1, 2, 3, 10}, 0.75, {1.0 / 3, 2.0 / 3, 1, 1}},
      {{4, 4, 4, 4, 4}, 0.6, {0.6, 0.6, 0.6, 0.6, 0.6}},
      {{0.5F, 8, 0.25F, 6, 0.25F, 1}, 0.5, {0.25, 1, 0.125, 1, 0.125, 0.5}}};
  for (const auto& [norms, ratio, chances] : cases) {
    const auto n = static_cast<int64_t>(norms.size());
    const auto dy = at::tensor(norms).view({n, 1, 1, 1});
    auto o = operands_with_dy(dy);
    o.product = Product::kDataGradient;
    const auto k = kept_of(n, ratio);
    const auto defined = example_chances(std::vector<double>(norms.begin(), norms.end()), k);
    const auto method = make_method(fmt::format("vcas:ratio={}", ratio));
    for (size_t i = 0; i < norms.size(); ++i) EXPECT_NEAR(defined[i], chances[i], 1e-12) << i;
    std::vector<int> seen(norms.size(), 0);
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const auto factor = factors_in(method->plan(o, {.rng = vcas_draws(seed, o.product)}), n);
      for (size_t i = 0; i < norms.size(); ++i) {
        if (factor[i] == 0) continue;
        EXPECT_NEAR(factor[i], 1 / chances[i], 1e-5 / chances[i]) << i;
        ++seen[i];
      }
    }
    for (size_t i = 0; i < norms.size(); ++i) EXPECT_GT(seen[i], 0) << i;
  }
}

// The mean over many draws is the exact gradient. Examples are drawn one by one, so the variance is
// the sum of (1/p - 1) times the square of each example's part. On average k examples stay.
TEST(Vcas, IsUnbiasedWithTheVarianceOfItsChances) {
  constexpr int kDraws = 3000;
  for (const auto product : kSampledGradients) {
    SCOPED_TRACE(name(product));
    auto o = uneven_batch(12, 7);
    o.product = product;
    const auto exact = reference::product(o).tensor();
    const auto chance = example_chances(reference::norms(reference::Array(o.dy), 0), 6);
    double variance = 0;
    for (size_t i = 0; i < 12; ++i) {
      std::vector<double> alone(12, 0);
      alone[i] = 1;
      const auto part = product_of_sample(o, alone).square().sum().item<double>();
      variance += (1 / chance[i] - 1) * part;
    }
    const auto method = make_method("vcas:ratio=0.5");
    auto sum = at::zeros_like(exact);
    double square = 0, kept = 0;
    for (uint64_t step = 0; step < kDraws; ++step) {
      const Rng rng{.seed = 5, .step = step, .product = product};
      const auto plan = method->plan(o, {.rng = rng});
      const auto got = run(plan, o).to(at::kDouble);
      sum += got;
      square += (got - exact).square().sum().item<double>();
      kept += static_cast<double>(std::get<Sampled>(plan).index.numel());
    }
    EXPECT_NEAR(square / kDraws / variance, 1, 0.1);
    // The square of a mean of kDraws errors; its own spread is below its mean.
    EXPECT_LT((sum / kDraws - exact).square().sum().item<double>(), 4 * variance / kDraws);
    EXPECT_NEAR(kept / kDraws, 6, 4.5 * std::sqrt(12 * 0.25 / kDraws));
  }
}

// k examples or fewer have a gradient: all of them stay and nothing is scaled.
TEST(Vcas, FewExamplesWithAGradientAllStay) {
  auto o = uneven_batch(8, 3);
  for (const int64_t silent : {0, 2, 3, 5, 6}) o.dy[silent].zero_();
  for (const auto product : kSampledGradients) {
    o.product = product;
    const auto method = make_method("vcas:ratio=0.5");
    const auto plan = method->plan(o, {});
    EXPECT_EQ(factors_in(plan, 8), (std::vector<double>{0, 1, 0, 0, 1, 0, 0, 1}));
    EXPECT_CLOSE(run(plan, o), reference::product(o).tensor());
    auto none = o;
    none.dy = at::zeros_like(o.dy);
    EXPECT_EQ(run(method->plan(none, {}), none).abs().max().item<float>(), 0);
  }
}

// Nothing is drawn in some steps. The gradients are then zero, which an unbiased choice needs.
TEST(Vcas, NothingDrawnIsAGradientOfZero) {
  auto o = random_operands({2, 3, 5, 4, 3, 1, 1});
  o.dy[1].copy_(o.dy[0]);
  int empty = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    o.product = Product::kDataGradient;
    const auto plan = make_method("vcas:ratio=0.3")->plan(o, {.rng = vcas_draws(seed, o.product)});
    if (std::get<Sampled>(plan).index.numel() > 0) continue;
    ++empty;
    for (const auto product : kSampledGradients) {
      o.product = product;
      const auto result = run(plan, o);
      EXPECT_EQ(result.abs().max().item<float>(), 0);
      EXPECT_EQ(result.sizes(), product == Product::kDataGradient ? o.x.sizes() : o.w.sizes());
    }
  }
  EXPECT_GT(empty, 2);  // a quarter of 40, give or take 3
  EXPECT_LT(empty, 23);
}

TEST(Vcas, WhatIsNoNumberStays) {
  auto o = uneven_batch(8, 3);
  o.product = Product::kDataGradient;
  o.dy[4][0][0][0].fill_(NAN);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto factor =
        factors_in(make_method("vcas:ratio=0.3")->plan(o, {.rng = vcas_draws(seed, o.product)}), 8);
    EXPECT_EQ(factor[4], 1) << seed;
  }
}

// SampleW: the weight gradient of a linear layer takes a second sample of the examples that stayed.
TEST(Vcas, TheWeightGradientOfALinearLayerIsSampledAgain) {
  for (const int64_t examples : {2, 7, 24}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(fmt::format("{} examples, seed {}", examples, seed));
      auto o = uneven_batch(examples, seed, /*size=*/1);
      for (int64_t i = 1; i < examples; i += 4) o.x[i].mul_(6);
      const auto method = make_method("vcas:ratio=0.6,weight_ratio=0.5");
      EXPECT_FALSE(method->plans_once());
      const auto of_dy = reference::norms(reference::Array(o.dy), 0),
                 of_x = reference::norms(reference::Array(o.x), 0);
      const auto first =
          example_factors(of_dy, kept_of(examples, 0.6), vcas_draws(seed, Product::kDataGradient));
      o.product = Product::kDataGradient;
      EXPECT_CLOSE(run(method->plan(o, {.rng = vcas_draws(seed, o.product)}), o),
                   product_of_sample(o, first));
      // The second sample is drawn among those that stayed, in their order.
      std::vector<size_t> stayed;
      std::vector<double> scores;
      for (size_t i = 0; i < first.size(); ++i) {
        if (first[i] == 0) continue;
        stayed.push_back(i);
        scores.push_back(first[i] * of_dy[i] * of_x[i]);
      }
      auto factor = first;
      const auto alive = static_cast<int64_t>(stayed.size());
      if (alive > 0 && kept_of(alive, 0.5) < alive) {
        const auto second = example_factors(scores, kept_of(alive, 0.5),
                                            vcas_draws(seed, Product::kWeightGradient));
        for (size_t i = 0; i < stayed.size(); ++i) factor[stayed[i]] *= second[i];
      }
      o.product = Product::kWeightGradient;
      EXPECT_CLOSE(run(method->plan(o, {.rng = vcas_draws(seed, o.product)}), o),
                   product_of_sample(o, factor));
    }
  }
}

TEST(Vcas, TheSecondSampleIsUnbiasedAndLeavesConvolutionsAlone) {
  constexpr int kDraws = 4000;
  auto o = uneven_batch(10, 4, /*size=*/1);
  o.product = Product::kWeightGradient;
  for (const auto* text : {"vcas:ratio=0.6,weight_ratio=0.5", "vcas:ratio=1,weight_ratio=0.4"}) {
    const auto error = error_of_draws(o, text, kDraws, /*seed=*/6);
    EXPECT_GT(error.of_a_draw, 0);
    EXPECT_LT(error.of_the_mean, 4 * error.of_a_draw / kDraws);
  }
  auto conv = uneven_batch(10, 4);
  conv.product = Product::kWeightGradient;
  const Rng rng{.seed = 6, .product = conv.product};
  EXPECT_EQ(factors_in(make_method("vcas:weight_ratio=0.3")->plan(conv, {.rng = rng}), 10),
            factors_in(make_method("vcas")->plan(conv, {.rng = rng}), 10));
}

// The control looks at no norm: all examples that have a gradient are alike.
TEST(Vcas, EqualChancesAreThoseOfTheControl) {
  constexpr int kDraws = 4000;
  auto o = uneven_batch(8, 3);
  o.product = Product::kDataGradient;
  for (const int64_t silent : {1, 6}) o.dy[silent].zero_();
  const auto method = make_method("vcas:ratio=0.5,chances=equal");
  std::vector<int> taken(8, 0);
  for (uint64_t step = 0; step < kDraws; ++step) {
    const auto factor = factors_in(method->plan(o, {.rng = {.seed = 3, .step = step}}), 8);
    for (size_t i = 0; i < 8; ++i) {
      if (factor[i] == 0) continue;
      EXPECT_NEAR(factor[i], 6.0 / 4, 1e-6);
      ++taken[i];
    }
  }
  for (size_t i = 0; i < 8; ++i) {
    const bool silent = i == 1 || i == 6;
    const double share = silent ? 0 : 4.0 / 6;
    EXPECT_NEAR(taken[i], kDraws * share, 4.5 * std::sqrt(kDraws * share * (1 - share)) + 1e-9);
  }
}

// Rows that a layer above chose at this ratio or a lower one stay as they are. A lower ratio draws.
TEST(Vcas, RowsThatAreHandedDownStayUnlessTheRatioIsLower) {
  auto o = uneven_batch(12, 3);
  const auto index = at::tensor({0, 2, 3, 5, 7, 8, 9, 11}, at::kLong);
  auto mask = at::zeros({12, 1, 1, 1});
  mask.index_fill_(0, index, 1);
  o.dy = o.dy * mask;
  const AliveRows rows{index, 0.5};
  const auto count_of = [&](const char* text, uint64_t seed) {
    const auto plan = make_method(text)->plan(
        o, {.rng = vcas_draws(seed, Product::kDataGradient), .alive = &rows});
    return std::get<Sampled>(plan).index.numel();
  };
  for (const auto product : kSampledGradients) {
    o.product = product;
    for (const auto* text : {"vcas:ratio=0.5", "vcas:ratio=0.6,norm=drop", "vcas:ratio=1"}) {
      const auto plan = make_method(text)->plan(o, {.alive = &rows});
      EXPECT_TRUE(at::equal(std::get<Sampled>(plan).index, index)) << text;
      EXPECT_FALSE(std::get<Sampled>(plan).scale.defined()) << text;
      EXPECT_CLOSE(run(plan, o), reference::product(o).tensor());
    }
  }
  int64_t sum = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) sum += count_of("vcas:ratio=0.25", seed);
  EXPECT_NEAR(static_cast<double>(sum) / 50, 3, 1);
}

TEST(Vcas, SaysWhatItWaitsForAndWhetherItDrops) {
  EXPECT_EQ(make_method("vcas")->waits_for(), "how many examples its draws keep");
  EXPECT_TRUE(make_method("vcas")->plans_once());
  EXPECT_FALSE(make_method("vcas")->drops_examples().has_value());
  EXPECT_EQ(make_method("vcas:norm=drop,ratio=0.25")->drops_examples().value_or(0), 0.25);
  EXPECT_TRUE(make_method("vcas")->samples_blocks());
  EXPECT_FALSE(make_method("vcas:blocks=false")->samples_blocks());
}

TEST(Vcas, RejectsWhatItDoesNotKnow) {
  for (const auto* text : {"vcas:ratio=0", "vcas:ratio=1.5", "vcas:weight_ratio=0",
                           "vcas:norm=keep", "vcas:chances=loss"}) {
    EXPECT_THROW(make_method(text), Error) << text;
  }
}

}  // namespace
}  // namespace approx
