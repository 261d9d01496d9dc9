// wta_crs, held to the formulas of its head comment in plain loops.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/methods/sampling.h"
#include "tests/core/methods/error_of_draws.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

// The pairs in the order of their scores, the first of equal ones first.
std::vector<size_t> falling_order(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return p[a] > p[b]; });
  return order;
}

// The size of the head: what makes (1 - P) / (k - d) least.
int64_t head_by_definition(const std::vector<double>& p, int64_t k) {
  const auto order = falling_order(p);
  int64_t best = 0;
  double least = INFINITY;
  for (int64_t d = 0; d < k; ++d) {
    double rest = 0;
    for (size_t i = order.size(); i-- > static_cast<size_t>(d);) rest += p[order[i]];
    const double value = rest / static_cast<double>(k - d);
    if (value < least) least = value, best = d;
  }
  return best;
}

// The factors of all pairs for the numbers u of the draws, in [0, 1).
std::vector<double> wta_factors(const std::vector<double>& scores, int64_t k, double mix,
                                const std::vector<double>& u) {
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  std::vector<double> p;
  for (const double score : scores) {
    p.push_back((1 - mix) * score / total + mix / static_cast<double>(scores.size()));
  }
  const int64_t d = head_by_definition(p, k);
  const auto order = falling_order(p);
  std::vector<double> factor(p.size(), 0), tail = p;
  for (int64_t i = 0; i < d; ++i) {
    const size_t head = order[static_cast<size_t>(i)];
    factor[head] = p[head] > 0 ? 1 : 0;
    tail[head] = 0;
  }
  const double rest = std::accumulate(tail.begin(), tail.end(), 0.0);
  if (rest == 0) return factor;
  for (int64_t j = 0; j < k - d; ++j) {
    double reached = 0;
    for (size_t i = 0; i < tail.size(); ++i) {
      reached += tail[i];
      if (u[static_cast<size_t>(j)] * rest >= reached) continue;
      factor[i] += rest / (p[i] * static_cast<double>(k - d));
      break;
    }
  }
  return factor;
}

std::vector<double> example_scores(const Operands& o) {
  auto scores = reference::norms(reference::Array(o.x), 0);
  const auto of_dy = reference::norms(reference::Array(o.dy), 0);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] *= of_dy[i];
  return scores;
}

at::Tensor with_examples(const Operands& o, const std::vector<double>& factor) {
  return reference::weight_gradient(reference::Array(o.x),
                                    reference::scaled(reference::Array(o.dy), 0, factor),
                                    o.geometry, o.w.sizes().vec())
      .tensor();
}

Operands uneven_examples(int64_t examples, uint64_t seed) {
  auto o = random_operands({examples, 3, 4, 5, 3, 1, 1}, seed);
  o.product = Product::kWeightGradient;
  // Some examples weigh far more than others.
  for (int64_t i = 0; i < examples; i += 3) o.dy[i].mul_(20);
  return o;
}

std::vector<double> wta_draws(const Rng& rng, int64_t k) {
  std::vector<double> u;
  for (int64_t j = 0; j < k; ++j) {
    const auto word = static_cast<uint32_t>(j);
    u.push_back(Rng::uniform(rng.block(word / 4)[word % 4]));
  }
  return u;
}

TEST(WtaCrs, IsWhatItsDrawsSay) {
  for (const int64_t examples : {2, 5, 16, 33}) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(fmt::format("{} examples, seed {}", examples, seed));
      const auto o = uneven_examples(examples, seed);
      const auto scores = example_scores(o);
      const auto k = std::max<int64_t>(1, examples * 2 / 5);
      const Rng rng{.seed = seed, .layer = 2, .step = 3, .product = o.product};
      for (const double mix : {0.0, 0.1}) {
        const auto factor = wta_factors(scores, k, mix, wta_draws(rng, k));
        const auto plan = [&](const char* size) {
          return make_method(fmt::format("wta_crs:ratio=0.4,mix={},size={}", mix, size))
              ->plan(o, {.rng = rng});
        };
        const auto drawn = plan("drawn"), fixed = plan("fixed");
        EXPECT_CLOSE(run(drawn, o), with_examples(o, factor));
        EXPECT_CLOSE(run(fixed, o), with_examples(o, factor));
        EXPECT_EQ(std::get<Sampled>(fixed).index.numel(), k);
        EXPECT_EQ(std::get<Sampled>(drawn).index.numel(),
                  std::ranges::count_if(factor, [](double f) { return f != 0; }));
      }
    }
  }
}

// Every outcome of the draws: each is a pair of the tail, with its probability.
TEST(WtaCrs, AllOutcomesOfSmallCasesAreUnbiased) {
  const std::vector<std::vector<double>> cases = {
      {5, 1, 1, 1}, {1, 1, 1, 1},         {10, 8, 1, 2, 1}, {100, 1, 2},
      {3, 0, 2, 1}, {4, 4, 1, 0.5, 0.25}, {1, 0, 0, 0.125}};
  for (const auto& scores : cases) {
    const auto n = scores.size();
    for (int64_t k = 1; k < static_cast<int64_t>(n); ++k) {
      const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
      std::vector<double> p;
      for (const double score : scores) p.push_back(score / total);
      const int64_t d = head_by_definition(p, k);
      const auto order = falling_order(p);
      std::vector<double> tail = p;
      for (int64_t i = 0; i < d; ++i) tail[order[static_cast<size_t>(i)]] = 0;
      const double rest = std::accumulate(tail.begin(), tail.end(), 0.0);
      std::vector<double> mean(n, 0);
      const auto add = [&](const std::vector<double>& u, double probability) {
        const auto factor = wta_factors(scores, k, 0, u);
        for (size_t i = 0; i < n; ++i) mean[i] += probability * factor[i];
      };
      // The draws of a tuple of pairs lie in the middles of their stretches.
      const auto tuples = static_cast<int64_t>(std::pow(n, k - d));
      for (int64_t tuple = 0; tuple < (rest > 0 ? tuples : 0); ++tuple) {
        std::vector<double> u(static_cast<size_t>(k), 0.5);
        double probability = 1;
        int64_t left = tuple;
        for (int64_t j = 0; j < k - d; ++j, left /= static_cast<int64_t>(n)) {
          const auto pair = static_cast<size_t>(left % static_cast<int64_t>(n));
          const double before = std::accumulate(tail.begin(), tail.begin() + pair, 0.0);
          u[static_cast<size_t>(j)] = (before + tail[pair] / 2) / rest;
          probability *= tail[pair] / rest;
        }
        if (probability > 0) add(u, probability);
      }
      if (rest == 0) add({}, 1);
      for (size_t i = 0; i < n; ++i) {
        EXPECT_NEAR(mean[i], scores[i] > 0 ? 1 : 0, 1e-9) << "pair " << i << ", k " << k;
      }
    }
  }
}

// The rule of the head, on scores where it is easily seen.
TEST(WtaCrs, TakesTheHeadOfThePapersRule) {
  EXPECT_EQ(head_by_definition({0.25, 0.25, 0.25, 0.25}, 2), 0);
  EXPECT_EQ(head_by_definition({0.7, 0.1, 0.1, 0.1}, 2), 1);
  // With k = 3 heads of 0, 1 and 2 leave (1 - P) / (k - d) = 1/3, 0.6/2 and 0.2/1.
  EXPECT_EQ(head_by_definition({0.4, 0.4, 0.1, 0.1}, 3), 2);
  auto o = random_operands({4, 2, 3, 3, 1, 1, 0});
  o.product = Product::kWeightGradient;
  o.x = at::ones_like(o.x);
  o.dy = at::ones_like(o.dy);
  o.dy.mul_(at::tensor({1.f, 4.f, 1.f, 4.f}).view({4, 1, 1, 1}));
  const auto plan =
      std::get<Sampled>(make_method("wta_crs:ratio=0.75")->plan(o, {.rng = {.seed = 1}}));
  ASSERT_EQ(plan.index.numel(), 3);
  for (int64_t i = 0; i < 3; ++i) {
    const bool in_head = plan.index[i].item<int64_t>() % 2 == 1;
    EXPECT_FLOAT_EQ(plan.scale[i].item<float>(), in_head ? 1.f : 2.f);
  }
}

// k pairs or fewer have a score: the product is exact, also where a whole batch has none.
TEST(WtaCrs, FewPairsAreAllTaken) {
  auto o = uneven_examples(8, 3);
  for (const int64_t silent : {0, 2, 3, 5, 6}) o.dy[silent].zero_();
  for (const auto* size : {"drawn", "fixed"}) {
    const auto method = make_method(fmt::format("wta_crs:ratio=0.5,size={}", size));
    EXPECT_CLOSE(run(method->plan(o, {}), o), reference::product(o).tensor());
    auto none = o;
    none.dy = at::zeros_like(o.dy);
    EXPECT_EQ(run(method->plan(none, {}), none).abs().max().item<float>(), 0);
  }
}

// Over many draws the estimate is unbiased and its variance at most that of crs with as many pairs:
// far below where some pairs weigh more, equal where all weigh alike.
TEST(WtaCrs, HasAtMostTheVarianceOfCrs) {
  constexpr int kDraws = 3000;
  for (const bool uneven : {true, false}) {
    auto o = uneven_examples(12, 7);
    if (!uneven) {
      const auto norms = o.dy.flatten(1).norm(2, 1) * o.x.flatten(1).norm(2, 1);
      o.dy = o.dy / norms.view({12, 1, 1, 1});
    }
    const auto [wta, bias] = error_of_draws(o, "wta_crs:ratio=0.5", kDraws, /*seed=*/5);
    const auto crs =
        error_of_draws(o, "crs:ratio=0.5,mode=weight_gradient", kDraws, /*seed=*/5).of_a_draw;
    // The square of a mean of kDraws errors; its own spread is below its mean.
    EXPECT_LT(bias, 4 * wta / kDraws);
    if (uneven) {
      EXPECT_LT(wta, 0.5 * crs);
    } else {
      EXPECT_NEAR(wta / crs, 1, 0.1);
    }
  }
}

TEST(WtaCrs, SamplesTheWeightGradientUnlessToldOtherwise) {
  const auto& entry = Registry<MethodEntry>::instance().find("wta_crs");
  const auto products = [&](const std::string& text) {
    return entry.products_with(Params(entry.params, parse_spec(text)));
  };
  EXPECT_EQ(products("wta_crs"), std::vector<Product>{Product::kWeightGradient});
  EXPECT_EQ(products("wta_crs:mode=both").size(), 3u);
  EXPECT_EQ(make_method("wta_crs")->waits_for(), "how many pairs its draws take");
  EXPECT_EQ(make_method("wta_crs:size=fixed")->waits_for(), "");
}

}  // namespace
}  // namespace approx
