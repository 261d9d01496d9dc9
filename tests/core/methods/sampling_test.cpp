// crs, bernoulli_crs, topk_crs and topk_weights, held to the formulas of Adelman et al. 2021.
#include "core/methods/sampling.h"

#include <cmath>
#include <numeric>

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
        const auto plan = method->plan(o, Rng{});
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
    const auto plan = make_method("topk_weights:ratio=0.4")->plan(o, Rng{});
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
    const auto plan = make_method("topk_crs:" + text)->plan(o, Rng{});
    const auto* sampled = std::get_if<Sampled>(&plan);
    return sampled == nullptr ? -1 : sampled->index.numel();
  };
  // In double precision: float arithmetic would give 28, 52, 56, 57 and 58.
  for (const auto& [ratio, expected] :
       {std::pair{"0.29", 29}, {"0.53", 53}, {"0.57", 56}, {"0.58", 57}, {"0.59", 59}}) {
    EXPECT_EQ(k(std::string("ratio=") + ratio),
              static_cast<int64_t>(std::floor(100 * std::stod(ratio))))
        << expected;
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
  const auto plan = make_method("topk_crs:ratio=0.5")->plan(o, Rng{});
  EXPECT_TRUE(at::equal(std::get<Sampled>(plan).index, at::arange(0, 4)));
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

std::vector<double> bernoulli_factors(const std::vector<double>& scores, int64_t k, double mix,
                                      const Rng& rng) {
  const auto n = static_cast<double>(scores.size());
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  std::vector<double> factor(scores.size(), 0);
  for (size_t i = 0; i < scores.size(); ++i) {
    const double p =
        (1 - mix) * std::min(1.0, static_cast<double>(k) * scores[i] / total) + mix / n;
    const double u = Rng::uniform(rng.block(static_cast<uint32_t>(i / 4))[i % 4]);
    if (u < p) factor[i] = 1 / p;
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
              ->plan(o, rng);
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
    const auto result = run(method->plan(o, rng), o).to(at::kDouble);
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
                           "bernoulli_crs:ratio=0.5,mix=0.1"}) {
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

TEST(Sampling, NothingToChooseFromIsAProductOfZero) {
  for (const auto* text : {"crs", "bernoulli_crs", "topk_crs", "topk_weights"}) {
    auto o = with_product(random_operands({2, 6, 4, 5, 3, 1, 1}), Product::kForward);
    o.x = at::zeros_like(o.x);
    const auto plan = make_method(std::string(text) + ":mode=black_box")->plan(o, Rng{});
    EXPECT_EQ(run(plan, o).abs().max().item<float>(), 0) << text;
    EXPECT_EQ(run(plan, o).sizes(), o.dy.sizes()) << text;
  }
}

TEST(Sampling, WhatIsNoNumberIsNotLost) {
  for (const auto* text : {"crs", "bernoulli_crs", "topk_crs"}) {
    for (const double bad : {std::nan(""), double(INFINITY)}) {
      auto o = with_product(random_operands({2, 6, 4, 5, 3, 1, 1}), Product::kForward);
      o.x = o.x.clone();
      o.x[1][4][2][2] = bad;
      const auto plan = make_method(std::string(text) + ":ratio=0.2")->plan(o, Rng{});
      EXPECT_FALSE(at::isfinite(run(plan, o)).all().item<bool>()) << text << " " << bad;
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
  EXPECT_ANY_THROW(make_method("crs")->plan(o, MethodCall(Rng{})));
}

}  // namespace
}  // namespace approx
