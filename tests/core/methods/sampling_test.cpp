// crs, bernoulli_crs, topk_crs and topk_weights, held to the formulas of Adelman et al. 2021.
#include "core/methods/sampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "kernels/draws.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

const std::vector<Product> kAll = {Product::kForward, Product::kDataGradient,
                                   Product::kWeightGradient};

Operands with_product(Operands operands, Product product) {
  operands.product = product;
  return operands;
}

// Norms of w by input channel, where groups have weights of their own.
std::vector<double> weight_norms_by_input(const Operands& o) {
  const reference::Array w(o.w);
  const int64_t groups = o.geometry.groups, outputs = o.w.size(0) / groups;
  std::vector<double> squares(static_cast<size_t>(o.input_sizes[1]));
  for (int64_t co = 0; co < o.w.size(0); ++co) {
    for (int64_t ci = 0; ci < o.w.size(1); ++ci) {
      for (int64_t r = 0; r < o.w.size(2); ++r) {
        for (int64_t s = 0; s < o.w.size(3); ++s) {
          squares[static_cast<size_t>(co / outputs * o.w.size(1) + ci)] +=
              std::pow(w.at(co, ci, r, s), 2);
        }
      }
    }
  }
  for (auto& value : squares) value = std::sqrt(value);
  return squares;
}

// The scores of a product's pairs.
std::vector<double> scores_of(const Operands& o, bool weights_alone = false) {
  std::vector<double> a, b;
  switch (o.product) {
    case Product::kForward:
      a = weight_norms_by_input(o);
      if (!weights_alone) b = reference::norms(reference::Array(o.x), 1);
      break;
    case Product::kDataGradient:
      a = reference::norms(reference::Array(o.w), 0);
      if (!weights_alone) b = reference::norms(reference::Array(o.dy), 1);
      break;
    case Product::kWeightGradient:
      a = reference::norms(reference::Array(o.x), 0);
      b = reference::norms(reference::Array(o.dy), 0);
      break;
  }
  for (size_t i = 0; i < b.size(); ++i) a[i] *= b[i];
  return a;
}

// The exact product with a factor on each pair.
at::Tensor with_factors(const Operands& o, const std::vector<double>& factor) {
  const reference::Array x(o.x), w(o.w), dy(o.dy);
  switch (o.product) {
    case Product::kForward:
      return reference::forward(reference::scaled(x, 1, factor), w, o.geometry).tensor();
    case Product::kDataGradient:
      return reference::data_gradient(w, reference::scaled(dy, 1, factor), o.geometry,
                                      o.input_sizes)
          .tensor();
    case Product::kWeightGradient:
      return reference::weight_gradient(x, reference::scaled(dy, 0, factor), o.geometry,
                                        o.w.sizes().vec())
          .tensor();
  }
  return {};
}

// The k largest scores, lower index first among equals, as factors.
std::vector<double> top_factors(const std::vector<double>& scores, int64_t k) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<double> factor(scores.size(), 0);
  for (int64_t i = 0; i < k; ++i) factor[order[static_cast<size_t>(i)]] = 1;
  return factor;
}

int64_t k_of(size_t n, double ratio) {
  const auto k = static_cast<int64_t>(std::floor(static_cast<double>(n) * ratio));
  return std::min<int64_t>(std::max<int64_t>(k, 1), static_cast<int64_t>(n));
}

TEST(Sampling, TopkCrsTakesTheLargestPairsOfEachProduct) {
  for (const auto& shape : random_shapes(25, 1)) {
    SCOPED_TRACE(shape);
    const auto all = random_operands(shape);
    for (const double ratio : {0.3, 0.5, 0.9}) {
      for (const auto product : kAll) {
        // Each product by itself: black_box samples forward, backward each gradient.
        const auto method =
            make_method(fmt::format("topk_crs:ratio={},mode={}", ratio,
                                    product == Product::kForward ? "black_box" : "backward"));
        const auto o = with_product(all, product);
        const auto plan = method->plan(o, {});
        const auto scores = scores_of(o);
        const auto expected = with_factors(o, top_factors(scores, k_of(scores.size(), ratio)));
        for (const auto& variant : variants(plan, o)) {
          EXPECT_CLOSE(run(plan, o, variant), expected) << name(product) << " " << variant;
        }
      }
    }
  }
}

TEST(Sampling, TopkWeightsLooksAtTheWeightsAlone) {
  for (const auto& shape : random_shapes(10, 2)) {
    SCOPED_TRACE(shape);
    const auto o = with_product(random_operands(shape), Product::kForward);
    const auto plan = make_method("topk_weights:ratio=0.4")->plan(o, {});
    const auto scores = scores_of(o, /*weights_alone=*/true);
    EXPECT_CLOSE(run(plan, o), with_factors(o, top_factors(scores, k_of(scores.size(), 0.4))));
  }
  EXPECT_THROW(make_method("topk_weights:mode=weight_gradient"), Error);
}

// Under mode=both the gradients are those of the sampled product: dX and dW carry the factors of
// the forward sample on their input channels, and nothing else of either is sampled.
TEST(Sampling, BothGradientsGoByTheForwardSample) {
  for (const auto& shape : random_shapes(15, 3)) {
    SCOPED_TRACE(shape);
    auto o = random_operands(shape);
    const auto scores = scores_of(with_product(o, Product::kForward));
    const auto factor = top_factors(scores, k_of(scores.size(), 0.5));
    const auto method = make_method("topk_crs:ratio=0.5");
    o.product = Product::kDataGradient;
    const auto data = plan_as_layer(*method, kAll, o, Rng{.product = o.product});
    const auto exact_dx = reference::data_gradient(reference::Array(o.w), reference::Array(o.dy),
                                                   o.geometry, o.input_sizes);
    EXPECT_CLOSE(run(data.plan, o), reference::scaled(exact_dx, 1, factor).tensor());

    o.product = Product::kWeightGradient;
    const auto weight = plan_as_layer(*method, kAll, o, Rng{.product = o.product});
    const auto exact_dw = reference::weight_gradient(reference::Array(o.x), reference::Array(o.dy),
                                                     o.geometry, o.w.sizes().vec());
    auto kept = exact_dw;  // w's second axis is that of one group's channels
    const int64_t outputs = shape.co / shape.groups;
    for (int64_t co = 0; co < shape.co; ++co) {
      for (int64_t ci = 0; ci < o.w.size(1); ++ci) {
        const auto channel = static_cast<size_t>(co / outputs * o.w.size(1) + ci);
        for (int64_t r = 0; r < o.w.size(2); ++r) {
          for (int64_t s = 0; s < o.w.size(3); ++s) kept.at(co, ci, r, s) *= factor[channel];
        }
      }
    }
    const auto expected = kept.tensor();
    EXPECT_CLOSE(run(weight.plan, o), expected);
    // The same from the sampled channels of x alone, which is all that a layer keeps.
    o.x = sampled_input(o.x, weight.plan, o.geometry);
    EXPECT_CLOSE(run(weight.plan, o), expected);
  }
}

TEST(Sampling, KFollowsRatioMinimumShareAndChannelLimit) {
  const TestShape shape{4, 100, 4, 6, 1, 1, 0};
  const auto o = with_product(random_operands(shape), Product::kForward);
  const auto k = [&](const std::string& text) -> int64_t {
    const auto plan = make_method("topk_crs:" + text)->plan(o, {});
    const auto* sampled = std::get_if<Sampled>(&plan);
    return sampled == nullptr ? -1 : sampled->index.numel();
  };
  // In double precision, in which 100 * 0.29 is 28.999999999999996. Float would give 29, 52, 57, 58
  // and 58.
  for (const auto& [ratio, expected] :
       {std::pair{"0.29", 28}, {"0.53", 53}, {"0.57", 56}, {"0.58", 57}, {"0.59", 59}}) {
    EXPECT_EQ(k(std::string("ratio=") + ratio), expected) << ratio;
  }
  EXPECT_EQ(k("ratio=0"), 1);
  EXPECT_EQ(k("ratio=0.1,min_k=37"), 37);
  EXPECT_EQ(k("ratio=0.1,min_k=100"), -1) << "all pairs: exact";
  EXPECT_EQ(k("ratio=1"), -1);
  EXPECT_EQ(k("ratio=0.5,min_channels=101"), -1) << "a narrow layer is exact";
  EXPECT_EQ(k("ratio=0.5,min_channels=100"), 50);

  auto scores = scores_of(o);
  std::sort(scores.rbegin(), scores.rend());
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  double sum = 0;
  int64_t fewest = 0;
  while (sum < 0.8 * total) sum += scores[static_cast<size_t>(fewest++)];
  EXPECT_EQ(k("share=0.8"), fewest);
}

TEST(Sampling, EqualScoresGoByIndex) {
  Operands o = with_product(random_operands({2, 9, 3, 4, 1, 1, 0}), Product::kForward);
  o.x = at::ones_like(o.x);
  o.w = at::ones_like(o.w);
  const auto plan = make_method("topk_crs:ratio=0.5")->plan(o, {});
  EXPECT_TRUE(at::equal(std::get<Sampled>(plan).index, at::arange(0, 4)));
}

// A forward product of one image by so many channels, all of equal score.
Operands of_equal_channels(int64_t channels) {
  Operands o = with_product(random_operands({1, channels, 1, 1, 1, 1, 0}), Product::kForward);
  o.x = at::ones_like(o.x);
  o.w = at::ones_like(o.w);
  return o;
}

// Indices that were drawn by the program of before there were draws of 52 bits.
TEST(Sampling, DrawsAmongFewPairsAreWhatTheyWere) {
  const auto o = of_equal_channels(kManyCandidates - 1);
  const std::map<std::string, std::vector<int64_t>> drawn = {
      {"crs", {6537, 14585, 6970, 13379, 2169, 12549, 3982, 15639}},
      {"uniform_crs", {5586, 6808, 6483, 13343, 15222, 3861, 11840, 3459}}};
  for (const auto& [name, indices] : drawn) {
    const auto method = make_method(name + ":ratio=0,mode=black_box");
    for (size_t seed = 0; seed < indices.size(); ++seed) {
      const Rng rng{.seed = seed, .product = Product::kForward};
      const auto plan = std::get<Sampled>(method->plan(o, {.rng = rng}));
      EXPECT_EQ(plan.index.item<int64_t>(), indices[seed]) << name << " " << seed;
    }
  }
}

// Pairs of three kinds in turn: what a sample makes of each kind's sum, as if it were the count of
// so many draws of its own, by chi-square at a level of 1e-6 (27.6 with two degrees of freedom; the
// counts of bernoulli_crs and uniform_crs vary less). A kind at 1.02 times its sum adds
// k/2 * 0.02^2 = 125 to the mean, which is seen with a probability above 0.999. Draws of 23 bits
// gave 1.04, 0.94 and 1.03.
TEST(Sampling, ManyPairsAreDrawnWithEqualChances) {
  const int64_t n = int64_t{3} << 18;
  const auto o = of_equal_channels(n);
  for (const char* text :
       {"crs", "crs:size=fixed", "bernoulli_crs", "bernoulli_crs:size=fixed", "uniform_crs"}) {
    std::string method = text;
    method += method.find(':') == std::string::npos ? ":" : ",";
    const auto plan = std::get<Sampled>(
        make_method(method + "ratio=0.8,mode=black_box")->plan(o, {.rng = {.seed = 4}}));
    const auto kind = plan.index.remainder(3);
    const double expected = 0.8 * static_cast<double>(n) / 3;
    double chi_square = 0;
    for (int64_t i = 0; i < 3; ++i) {
      const double sum = (plan.scale.to(at::kDouble) * (kind == i)).sum().item<double>();
      chi_square += std::pow(0.8 * sum - expected, 2) / expected;
    }
    EXPECT_LT(chi_square, 27.6) << text;
  }
}

// The factors that crs gives each pair, from the words of its stream: draw j falls into the pair
// whose stretch of the cumulative probabilities holds it.
std::vector<double> crs_factors(const std::vector<double>& scores, int64_t k, double mix,
                                const Rng& rng) {
  const auto n = static_cast<double>(scores.size());
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  std::vector<double> factor(scores.size(), 0);
  for (int64_t j = 0; j < k; ++j) {
    const auto word = static_cast<uint32_t>(j);
    const double u = Rng::uniform(rng.block(word / 4)[word % 4]);
    double reached = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      const double p = (1 - mix) * scores[i] / total + mix / n;
      reached += p;
      if (u < reached || i + 1 == scores.size()) {
        factor[i] += 1 / (static_cast<double>(k) * p);
        break;
      }
    }
  }
  return factor;
}

// How many pairs there are room for in a Bernoulli sample of fixed size.
size_t bernoulli_places(size_t n, int64_t k) {
  const auto mean = static_cast<double>(k);
  const auto spread = std::ceil(2 * std::sqrt(mean * (1 - mean / static_cast<double>(n))));
  return std::min(n, static_cast<size_t>(k) + static_cast<size_t>(spread));
}

// With `fixed`, of more pairs than there is room for those of smallest u / p.
std::vector<double> bernoulli_factors(const std::vector<double>& scores, int64_t k, double mix,
                                      const Rng& rng, bool fixed = false) {
  const auto n = static_cast<double>(scores.size());
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  std::vector<double> factor(scores.size(), 0);
  std::vector<std::pair<double, size_t>> taken;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double p =
        (1 - mix) * std::min(1.0, static_cast<double>(k) * scores[i] / total) + mix / n;
    const double u = Rng::uniform(rng.block(static_cast<uint32_t>(i / 4))[i % 4]);
    if (u < p) factor[i] = 1 / p, taken.emplace_back(u / p, i);
  }
  const size_t room = bernoulli_places(scores.size(), k);
  if (!fixed || taken.size() <= room) return factor;
  std::sort(taken.begin(), taken.end());
  for (size_t i = 0; i < taken.size(); ++i) {
    auto& own = factor[taken[i].second];
    own = i < room ? own * static_cast<double>(taken.size()) / static_cast<double>(room) : 0;
  }
  return factor;
}

TEST(Sampling, CrsAndBernoulliAreWhatTheirDrawsSay) {
  for (const auto& shape : random_shapes(25, 4)) {
    SCOPED_TRACE(shape);
    const auto all = random_operands(shape);
    for (const auto product : kAll) {
      const auto o = with_product(all, product);
      const auto scores = scores_of(o);
      const auto k = k_of(scores.size(), 0.4);
      if (k == static_cast<int64_t>(scores.size())) continue;  // exact
      const std::string mode = product == Product::kForward ? "black_box" : "backward";
      const Rng rng{.seed = 6, .layer = 2, .step = 3, .product = product};
      for (const double mix : {0.0, 0.1}) {
        const auto plan = [&](const char* name) {
          return make_method(fmt::format("{}:ratio=0.4,mix={},mode={}", name, mix, mode))
              ->plan(o, {.rng = rng});
        };
        EXPECT_CLOSE(run(plan("crs"), o), with_factors(o, crs_factors(scores, k, mix, rng)))
            << name(product);
        EXPECT_CLOSE(run(plan("bernoulli_crs"), o),
                     with_factors(o, bernoulli_factors(scores, k, mix, rng)))
            << name(product);
      }
    }
  }
}

// The factor on each pair of a plan, zero where it is not in the sample.
std::vector<double> factors_of_plan(const Plan& plan, size_t n) {
  const auto& sample = std::get<Sampled>(plan);
  std::vector<double> factor(n, 0);
  for (int64_t i = 0; i < sample.index.numel(); ++i) {
    factor.at(static_cast<size_t>(sample.index[i].item<int64_t>())) = sample.scale[i].item<float>();
  }
  return factor;
}

testing::AssertionResult ascends_without_repetition(const at::Tensor& index, int64_t n) {
  const auto* at = index.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < index.numel(); ++i) {
    if (at[i] < 0 || at[i] >= n || (i > 0 && at[i] <= at[i - 1])) {
      return testing::AssertionFailure() << "entry " << i << " is " << at[i];
    }
  }
  return testing::AssertionSuccess();
}

// In every mode, on every product and variant: what was drawn, and others that change nothing.
TEST(Sampling, AFixedSizeGivesWhatTheSameDrawsGiveWithout) {
  int64_t compared = 0, padded = 0;
  for (const std::string name_of : {"crs", "bernoulli_crs"}) {
    const auto& entry = Registry<MethodEntry>::instance().find(name_of);
    for (const std::string mode : {"both", "backward", "weight_gradient", "black_box"}) {
      const auto text = fmt::format("{}:ratio=0.4,mode={}", name_of, mode);
      const auto& products = entry.products_with(Params(entry.params, parse_spec(text)));
      for (const auto& shape : random_shapes(12, 7)) {
        for (const auto product : products) {
          SCOPED_TRACE(testing::Message() << text << " " << shape << " " << name(product));
          auto o = with_product(random_operands(shape), product);
          const Rng rng{.seed = 9, .layer = 2, .step = 3, .product = product};
          const auto drawn = plan_as_layer(*make_method(text), products, o, rng).plan;
          const auto fixed =
              plan_as_layer(*make_method(text + ",size=fixed"), products, o, rng).plan;
          ASSERT_EQ(drawn.index(), fixed.index());
          if (!std::holds_alternative<Sampled>(drawn)) continue;
          const auto &few = std::get<Sampled>(drawn), &all = std::get<Sampled>(fixed);
          const int64_t n = all.axis == Axis::kInputChannels    ? shape.ci
                            : all.axis == Axis::kOutputChannels ? shape.co
                                                                : shape.n;
          const int64_t k = k_of(static_cast<size_t>(n), 0.4);
          const auto room = name_of == "crs" ? k : static_cast<int64_t>(bernoulli_places(n, k));
          EXPECT_EQ(all.index.numel(), room);
          EXPECT_TRUE(ascends_without_repetition(all.index, n));
          if (few.index.numel() > room) continue;  // some were left out
          ++compared;
          padded += few.index.numel() < room;
          EXPECT_EQ((all.scale == 0).sum().item<int64_t>(), room - few.index.numel());
          const auto expected = run(drawn, o);
          for (const auto& variant : variants(fixed, o)) {
            EXPECT_CLOSE(run(fixed, o, variant), expected) << variant;
          }
          if (mode != "both" || product != Product::kWeightGradient) continue;
          o.x = sampled_input(o.x, fixed, o.geometry);  // all that a layer keeps
          EXPECT_CLOSE(run(fixed, o), expected);
        }
      }
    }
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(padded, 60);
}

// Operands whose forward product has 64 pairs, all of them of other scores.
Operands uneven_pairs() {
  auto o = with_product(random_operands({2, 64, 1, 2, 1, 1, 0}), Product::kForward);
  o.x = o.x * at::linspace(0.2, 2, 64).view({1, 64, 1, 1});
  return o;
}

TEST(Sampling, ABernoulliSampleOfFixedSizeIsWhatItsDrawsSay) {
  const auto o = uneven_pairs();
  const auto scores = scores_of(o);
  for (const int64_t k : {1, 5, 60}) {
    const auto method = make_method(
        fmt::format("bernoulli_crs:ratio=0,min_k={},mix=0.1,mode=black_box,size=fixed", k));
    for (uint64_t step = 0; step < 1000; ++step) {
      const Rng rng{.seed = 5, .layer = 1, .step = step, .product = o.product};
      const auto plan = method->plan(o, {.rng = rng});
      ASSERT_EQ(std::get<Sampled>(plan).index.numel(),
                static_cast<int64_t>(bernoulli_places(64, k)));
      const auto got = factors_of_plan(plan, 64),
                 expected = bernoulli_factors(scores, k, 0.1, rng, true);
      for (size_t i = 0; i < 64; ++i) ASSERT_NEAR(got[i], expected[i], 1e-4 * expected[i]) << step;
    }
  }
}

// Where more are taken than there is room for, which pairs stay does not go by what they are. One
// pair of 64 is taken on average and there is room for three, so a sample overflows in one of some
// sixty draws. Of those the estimate is compared with that of all that were taken, over which it is
// a mean; by sums that would show whether pairs of low index, or of small p, stay more often.
TEST(Sampling, WhatABernoulliSampleLeavesOutIsDrawnWithEqualChances) {
  const auto o = uneven_pairs();
  const auto scores = scores_of(o);
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  const auto method = make_method("bernoulli_crs:ratio=0.02,mode=black_box,size=fixed");
  const auto whole = make_method("bernoulli_crs:ratio=0.02,mode=black_box");
  constexpr int kDraws = 20000;
  constexpr double kRoom = 3;
  int overflows = 0;
  std::array<double, 2> sum{}, squares{};  // of the differences: by index, by p
  std::vector<double> mean(64, 0);
  for (int draw = 0; draw < kDraws; ++draw) {
    const Rng rng{.seed = 8, .step = static_cast<uint64_t>(draw), .product = o.product};
    const auto few = factors_of_plan(method->plan(o, {.rng = rng}), 64);
    const auto all = factors_of_plan(whole->plan(o, {.rng = rng}), 64);
    for (size_t i = 0; i < 64; ++i) mean[i] += few[i] / kDraws;
    const auto count = [](const std::vector<double>& factor) {
      return static_cast<double>(
          std::ranges::count_if(factor, [](double value) { return value > 0; }));
    };
    const double taken = count(all);
    if (taken <= kRoom) {
      EXPECT_EQ(few, all);
      continue;
    }
    ++overflows;
    EXPECT_EQ(count(few), kRoom);
    double weight = 0;  // of p times its factor each has N/m, of which there are m
    std::array<double, 2> difference{};
    for (size_t i = 0; i < 64; ++i) {
      const double p = scores[i] / total, by_p = p * (few[i] - all[i]);
      weight += p * few[i];
      difference[0] += by_p * static_cast<double>(i);
      difference[1] += by_p * p;
    }
    EXPECT_NEAR(weight, taken, 1e-4);
    for (size_t j = 0; j < 2; ++j) {
      sum[j] += difference[j], squares[j] += difference[j] * difference[j];
    }
  }
  EXPECT_GT(overflows, 200);
  for (size_t j = 0; j < 2; ++j) {
    EXPECT_LT(std::abs(sum[j]), 5.5 * std::sqrt(squares[j])) << (j == 0 ? "by index" : "by p");
  }
  // E = 1 of each factor, and its variance is at most 2/p.
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_NEAR(mean[i], 1, 5.5 * std::sqrt(2 * total / scores[i] / kDraws)) << i;
  }
}

// Draws of one method over `count` streams, and their mean, with the standard error of each
// element.
struct Draws {
  at::Tensor mean, error;
  double squared_error = 0, squared_error_se = 0;  // of |draw - exact|^2
};

Draws draws_of(const std::string& text, const Operands& o, int count) {
  const auto method = make_method(text);
  const auto exact = reference::product(o).tensor();
  auto sum = at::zeros_like(exact), squares = at::zeros_like(exact);
  std::vector<double> errors;
  for (int i = 0; i < count; ++i) {
    const Rng rng{.seed = 5, .layer = 1, .step = static_cast<uint64_t>(i), .product = o.product};
    const auto result = run(method->plan(o, {.rng = rng}), o).to(at::kDouble);
    sum += result;
    squares += result * result;
    errors.push_back((result - exact).square().sum().item<double>());
  }
  Draws draws;
  draws.mean = sum / count;
  draws.error = ((squares / count - draws.mean.square()).clamp_min(0) / count).sqrt();
  double mean = 0, variance = 0;
  for (const double e : errors) mean += e / count;
  for (const double e : errors) variance += (e - mean) * (e - mean) / (count - 1);
  draws.squared_error = mean;
  draws.squared_error_se = std::sqrt(variance / count);
  return draws;
}

// 5.5 standard errors on each of under 1000 elements: a false alarm in about 1 of 30,000 seeds, and
// the seed is fixed.
constexpr double kSigmas = 5.5;

TEST(Sampling, CrsAndBernoulliAreUnbiasedOnEveryProduct) {
  const auto all = random_operands({6, 10, 8, 5, 3, 1, 1});
  for (const auto* text : {"crs:ratio=0.3", "bernoulli_crs:ratio=0.3", "crs:ratio=0.5,mix=0.1",
                           "bernoulli_crs:ratio=0.5,mix=0.1", "bernoulli_crs:ratio=0.3,size=fixed",
                           "bernoulli_crs:ratio=0.1,mix=0.1,size=fixed"}) {
    for (const auto product : kAll) {
      const auto o = with_product(all, product);
      const std::string mode = product == Product::kForward ? ",mode=black_box" : ",mode=backward";
      const auto draws = draws_of(text + mode, o, 2000);
      const auto exact = reference::product(o).tensor();
      // Where the draws hardly vary, rounding in float is what is left.
      const auto allowed = kSigmas * draws.error + 1e-5 * exact.abs().max();
      EXPECT_TRUE(((draws.mean - exact).abs() <= allowed).all().item<bool>())
          << text << " " << name(product);
    }
  }
}

// E|err|^2 = (sum s^2 / p - |AB|^2) / k for crs, sum (1 - p) / p s^2 for bernoulli_crs, where s is
// the norm of each pair's own product: the scores, where both slices are vectors (1x1 maps).
TEST(Sampling, VarianceIsTheClosedForm) {
  const auto o = with_product(random_operands({7, 20, 5, 1, 1, 1, 0}), Product::kForward);
  const auto scores = scores_of(o);
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  const auto exact = reference::product(o).tensor();
  const int64_t k = 8;
  const auto crs = draws_of("crs:ratio=0.4,mode=black_box", o, 4000);
  double expected = -exact.square().sum().item<double>() / k;
  for (const double s : scores) expected += s * total / k;
  EXPECT_NEAR(crs.squared_error, expected, kSigmas * crs.squared_error_se);

  const auto bernoulli = draws_of("bernoulli_crs:ratio=0.4,mode=black_box", o, 4000);
  expected = 0;
  for (const double s : scores) {
    const double p = std::min(1.0, k * s / total);
    expected += (1 - p) / p * s * s;
  }
  EXPECT_NEAR(bernoulli.squared_error, expected, kSigmas * bernoulli.squared_error_se);
}

// And the methods say it of themselves, by the p and k that their parameters give.
TEST(Sampling, VarianceIsWhatTheMethodExpects) {
  auto o = with_product(random_operands({7, 20, 5, 1, 1, 1, 0}), Product::kForward);
  // Pairs that weigh unlike each other, so that it shows by which chances they are drawn.
  o.x = o.x * at::arange(1, 21, o.x.options()).square().view({1, 20, 1, 1});
  const double exact = reference::product(o).tensor().square().sum().item<double>();
  const auto expected = [&](const std::string& text) {
    const auto method = make_method(text + ",mode=black_box");
    return dynamic_cast<const SamplingMethod&>(*method).expected_square(o, exact);
  };
  for (const std::string text :
       {"crs:ratio=0.4", "crs:ratio=0.4,mix=0.5", "crs:ratio=0.1,min_k=8,mix=0.1,size=fixed",
        "bernoulli_crs:ratio=0.4", "bernoulli_crs:ratio=0.4,mix=0.5",
        "bernoulli_crs:ratio=0.1,min_k=8,mix=0.1"}) {
    const auto draws = draws_of(text + ",mode=black_box", o, 4000);
    EXPECT_NEAR(draws.squared_error, expected(text), kSigmas * draws.squared_error_se) << text;
  }
  for (const auto* text : {"crs:share=0.8", "bernoulli_crs:share=0.8", "topk_crs:ratio=0.4",
                           "bernoulli_crs:ratio=0.4,size=fixed"}) {
    EXPECT_TRUE(std::isnan(expected(text))) << text;
  }
  EXPECT_EQ(expected("crs:min_k=20"), 0) << "all pairs: exact";
  EXPECT_EQ(expected("crs:min_channels=21"), 0) << "a narrow layer is exact";
}

TEST(Sampling, SaysHowManyPairsItGoesBy) {
  const auto all = random_operands({7, 20, 5, 6, 1, 1, 0});
  const auto size = [&](const std::string& text, Product product = Product::kForward) {
    const auto method = make_method("crs:" + text);
    return dynamic_cast<const SamplingMethod&>(*method).sample_size(with_product(all, product));
  };
  EXPECT_EQ(size("ratio=0.4"), 8);
  EXPECT_EQ(size("ratio=0.4,min_k=9"), 9);
  EXPECT_EQ(size("ratio=0.4,min_k=30"), 20);
  EXPECT_EQ(size("ratio=0.4,min_channels=21"), 20);
  EXPECT_EQ(size("ratio=0.5,mode=backward", Product::kDataGradient), 3);
  EXPECT_EQ(size("ratio=0.5,mode=backward", Product::kWeightGradient), 3);
  EXPECT_EQ(size("share=0.5"), std::nullopt);
}

TEST(Sampling, NothingToChooseFromIsAProductOfZero) {
  for (const auto* text :
       {"crs:mode=black_box", "bernoulli_crs:mode=black_box", "crs:mode=black_box,size=fixed",
        "bernoulli_crs:mode=black_box,size=fixed", "topk_crs:mode=black_box",
        "topk_weights:mode=black_box"}) {
    auto o = with_product(random_operands({2, 6, 4, 5, 3, 1, 1}), Product::kForward);
    o.x = at::zeros_like(o.x);
    const auto plan = make_method(text)->plan(o, {});
    EXPECT_EQ(run(plan, o).abs().max().item<float>(), 0) << text;
    EXPECT_EQ(run(plan, o).sizes(), o.dy.sizes()) << text;
  }
}

TEST(Sampling, WhatIsNoNumberIsNotLost) {
  for (const auto* text : {"crs:ratio=0.2", "bernoulli_crs:ratio=0.2", "crs:ratio=0.2,size=fixed",
                           "bernoulli_crs:ratio=0.2,size=fixed",
                           "bernoulli_crs:ratio=0.2,mix=1,size=fixed", "topk_crs:ratio=0.2"}) {
    for (const double bad : {std::nan(""), double(INFINITY)}) {
      for (const bool everywhere : {false, true}) {  // in more channels than are taken
        auto o = with_product(random_operands({2, 6, 4, 5, 3, 1, 1}), Product::kForward);
        o.x = everywhere ? at::full_like(o.x, bad) : o.x.clone();
        o.x[1][4][2][2] = bad;
        const auto plan = make_method(text)->plan(o, {});
        EXPECT_FALSE(at::isfinite(run(plan, o)).all().item<bool>()) << text << " " << bad;
      }
    }
  }
}

// On the device "meta" tensors have sizes and no numbers: whoever asks for one gets an error. What
// is chosen there says no word to the host that a GPU would have to answer.
TEST(Sampling, TopkChoosesWithoutAnAnswerFromTheDevice) {
  const auto there = [](const at::Tensor& tensor) {
    return at::empty_like(tensor, tensor.options().device(at::kMeta));
  };
  for (const auto* text : {"topk_crs:mode=both", "topk_crs:mode=backward", "topk_weights:mode=both",
                           "uniform_crs:mode=both"}) {
    const auto& entry = Registry<MethodEntry>::instance().find(parse_spec(text).name);
    const auto& products = entry.products_with(Params(entry.params, parse_spec(text)));
    for (const auto product : products) {
      SCOPED_TRACE(testing::Message() << text << " " << name(product));
      auto o = with_product(random_operands({3, 16, 6, 8, 3, 1, 1}), product);
      o.x = there(o.x), o.w = there(o.w), o.dy = there(o.dy);
      const auto planned = plan_as_layer(*make_method(text), products, o, Rng{.seed = 3});
      EXPECT_EQ(std::get<Sampled>(planned.plan).index.numel(),
                product == Product::kForward || entry.name != "topk_crs" ||
                        std::string(text).ends_with("both")
                    ? 8
                : product == Product::kDataGradient ? 4
                                                    : 1);
    }
  }
  // One that must know how many it drew does ask.
  auto o = with_product(random_operands({3, 16, 6, 8, 3, 1, 1}), Product::kForward);
  o.x = there(o.x), o.w = there(o.w);
  EXPECT_ANY_THROW(make_method("crs")->plan(o, {}));
}

TEST(Sampling, OneOfFixedSizeWaitsForNothingButItsShare) {
  const auto waits_for = [](const char* text) { return make_method(text)->waits_for(); };
  for (const std::string name_of : {"crs", "bernoulli_crs"}) {
    EXPECT_EQ(waits_for(name_of.c_str()), "how many pairs its draws take");
    EXPECT_EQ(waits_for((name_of + ":share=0.5").c_str()), "how many pairs its draws take");
    EXPECT_EQ(waits_for((name_of + ":size=fixed").c_str()), "");
    EXPECT_EQ(waits_for((name_of + ":size=fixed,share=0.5").c_str()),
              "how many pairs make up its share");
    EXPECT_THROW(make_method(name_of + ":size=small"), Error);
    // Runs that were stored before there was a choice keep their keys.
    const auto text = [&](const std::string& with) {
      return library_methods().method_params(name_of + with).full_text();
    };
    const auto stored = name_of + ":ratio=0.5,min_k=1,share=0,min_channels=0,mode=both,mix=0";
    EXPECT_EQ(text(""), stored);
    EXPECT_EQ(text(":size=drawn"), stored);
    EXPECT_EQ(text(":size=fixed"), stored + ",size=fixed");
  }
}

}  // namespace
}  // namespace approx
