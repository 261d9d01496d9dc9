// stochastic_pruning, sdgp, meprop and msbp, held to definitions in plain loops.
#include "core/methods/pruning.h"

#include <cmath>
#include <numeric>

#include "kernels/select/select.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

const std::vector<Product> kGradients = {Product::kDataGradient, Product::kWeightGradient};

// The gradient that a plan computes with.
at::Tensor pruned_by(Method& method, const Operands& o, const Rng& rng = {}) {
  return used_gradient(method.plan(o, {.rng = rng, .norm_follows = true}), o.dy);
}

Operands gradient_operands(const TestShape& shape, uint64_t seed = 1) {
  auto o = random_operands(shape, seed);
  o.product = Product::kDataGradient;
  return o;
}

// --- sdgp ----------------------------------------------------------------------------------------

// Section III-B and C of McDanel et al. 2022, on row-major arrays.
reference::Array sdgp_by_definition(const at::Tensor& dy, int64_t n, int64_t m,
                                    const std::string& rescale) {
  const reference::Array g(dy);
  reference::Array kept(g.sizes);
  const int64_t images = g.sizes[0], channels = g.sizes[1], rows = g.sizes[2], columns = g.sizes[3];
  const auto each_pixel = [&](const auto& visit) {
    for (int64_t i = 0; i < images; ++i) {
      for (int64_t y = 0; y < rows; ++y) {
        for (int64_t x = 0; x < columns; ++x) visit(i, y, x);
      }
    }
  };
  each_pixel([&](int64_t i, int64_t y, int64_t x) {
    for (int64_t first = 0; first < channels; first += m) {
      std::vector<int64_t> group;
      for (int64_t c = first; c < std::min(channels, first + m); ++c) group.push_back(c);
      const auto all = group;
      std::stable_sort(group.begin(), group.end(), [&](int64_t a, int64_t b) {
        return std::abs(g.at(i, a, y, x)) > std::abs(g.at(i, b, y, x));
      });
      if (static_cast<int64_t>(group.size()) > n) group.resize(static_cast<size_t>(n));
      double whole = 0, left = 0;
      for (const auto c : all) whole += std::abs(g.at(i, c, y, x));
      for (const auto c : group) left += std::abs(g.at(i, c, y, x));
      const double factor = rescale == "group" && left > 0 ? whole / left : 1;
      for (const auto c : group) kept.at(i, c, y, x) = g.at(i, c, y, x) * factor;
    }
  });
  if (rescale != "channel" && rescale != "sample_channel") return kept;
  const bool per_sample = rescale == "sample_channel";
  std::vector<double> whole(static_cast<size_t>(images * channels)), left(whole);
  const auto slot = [&](int64_t i, int64_t c) {
    return static_cast<size_t>(per_sample ? i * channels + c : c);
  };
  each_pixel([&](int64_t i, int64_t y, int64_t x) {
    for (int64_t c = 0; c < channels; ++c) {
      whole[slot(i, c)] += std::abs(g.at(i, c, y, x));
      left[slot(i, c)] += std::abs(kept.at(i, c, y, x));
    }
  });
  each_pixel([&](int64_t i, int64_t y, int64_t x) {
    for (int64_t c = 0; c < channels; ++c) {
      if (left[slot(i, c)] > 0) kept.at(i, c, y, x) *= whole[slot(i, c)] / left[slot(i, c)];
    }
  });
  return kept;
}

TEST(Sdgp, IsItsDefinitionUnderEveryRescaling) {
  const std::pair<int64_t, int64_t> choices[] = {{1, 2}, {2, 4}, {1, 3}, {3, 7}, {5, 32}, {4, 4}};
  for (const auto& shape : random_shapes(20, 11)) {
    SCOPED_TRACE(shape);
    const auto o = gradient_operands(shape);
    for (const auto& [n, m] : choices) {
      for (const auto* rescale : {"none", "group", "channel", "sample_channel"}) {
        const auto method = make_method(fmt::format("sdgp:n={},m={},rescale={}", n, m, rescale));
        const auto expected =
            n == m ? reference::Array(o.dy) : sdgp_by_definition(o.dy, n, m, rescale);
        EXPECT_CLOSE(pruned_by(*method, o), expected.tensor()) << n << ":" << m << " " << rescale;
        const auto dx =
            reference::data_gradient(reference::Array(o.w), expected, o.geometry, o.input_sizes);
        EXPECT_CLOSE(run(method->plan(o, {}), o), dx.tensor());
      }
    }
  }
}

TEST(Sdgp, LoopAndTensorOperationsAgreeToTheBit) {
  for (const auto& shape : random_shapes(15, 12)) {
    const auto dy = random_operands(shape).dy;
    const Rng rng{.seed = 3, .layer = 2, .step = 9, .product = Product::kDataGradient};
    for (const bool random : {false, true}) {
      const NmChoice choice{.n = 2, .m = 5, .random = random};
      const auto loop = nm_pruned(dy, choice, rng),
                 tensors = nm_pruned(dy, choice, rng, Choosing::kTensors);
      EXPECT_TRUE(at::equal(loop.dy, tensors.dy)) << shape;
      EXPECT_EQ(loop.kept.item<int64_t>(), tensors.kept.item<int64_t>());
    }
  }
}

TEST(Sdgp, TiesKeepTheLowerChannelAndNaNStays) {
  auto dy = at::ones({1, 4, 1, 1});
  const auto tie = nm_pruned(dy, {.n = 2, .m = 4}, Rng{});
  EXPECT_TRUE(at::equal(tie.dy.flatten(), at::tensor({1.f, 1.f, 0.f, 0.f})));
  dy[0][3][0][0] = std::nan("");
  EXPECT_TRUE(std::isnan(nm_pruned(dy, {.n = 1, .m = 4}, Rng{}).dy[0][3][0][0].item<float>()));
  EXPECT_TRUE(std::isnan(
      nm_pruned(dy, {.n = 1, .m = 4}, Rng{}, Choosing::kTensors).dy[0][3][0][0].item<float>()));
}

TEST(Sdgp, RandomChannelsHaveEqualChances) {
  // 2 of 4, the whole dY ones: each channel stays with probability 1/2. Four counts of 40,000
  // draws, 5 standard deviations: a false alarm in about 400,000 seeds, and the seed is fixed.
  const auto kept = nm_pruned(at::ones({100, 4, 20, 20}), {.n = 2, .m = 4, .random = true}, Rng{});
  const auto counts = kept.dy.sum({0, 2, 3});
  const double n = 40000, deviation = std::sqrt(n * 0.25);
  for (int64_t c = 0; c < 4; ++c) EXPECT_NEAR(counts[c].item<double>(), n / 2, 5 * deviation);
  EXPECT_EQ(kept.kept.item<int64_t>(), 2 * 40000);
  // And each pair of them with probability 1/6.
  const auto first_two = (kept.dy.select(1, 0) * kept.dy.select(1, 1)).sum().item<double>();
  EXPECT_NEAR(first_two, n / 6, 5 * std::sqrt(n * 5 / 36));
}

// The same channels as unscaled, and of what is left the sum of what was there.
TEST(Sdgp, RandomChannelsAreRescaledAsTheLargestAre) {
  const auto o = operands_with_dy(at::randn({3, 8, 6, 5}));
  const auto pruned = [&](const char* how) {
    return pruned_by(*make_method(fmt::format("sdgp:n=2,m=4,{}", how)), o).contiguous();
  };
  const auto unscaled = pruned("rank=random");
  EXPECT_TRUE(at::equal(pruned("rank=random,rescale=group"), unscaled));
  EXPECT_TRUE(at::equal(pruned("rank=random_rescaled,rescale=none"), unscaled));
  const auto magnitude = o.dy.contiguous().abs();
  const auto group = pruned("rank=random_rescaled,rescale=group");
  EXPECT_CLOSE(group.abs().reshape({3, 2, 4, 6, 5}).sum(2),
               magnitude.reshape({3, 2, 4, 6, 5}).sum(2));
  const auto channel = pruned("rank=random_rescaled,rescale=channel");
  EXPECT_CLOSE(channel.abs().sum({0, 2, 3}), magnitude.sum({0, 2, 3}));
  const auto plane = pruned("rank=random_rescaled");
  EXPECT_CLOSE(plane.abs().sum({2, 3}), magnitude.sum({2, 3}));
  for (const auto& scaled : {group, channel, plane}) {
    EXPECT_TRUE(at::equal(scaled != 0, unscaled != 0));
    EXPECT_EQ((scaled != 0).sum().item<int64_t>(), 3 * 8 * 6 * 5 / 2);
  }
}

// 64 x 64 entries of 20 have a sum of 81,920; fp16 ends at 65,504.
TEST(Sdgp, SumsOfHalfPrecisionAreMadeInFloat) {
  for (const auto type : {at::kHalf, at::kBFloat16}) {
    const auto o = operands_with_dy(at::full({2, 4, 64, 64}, 20.0, type));
    for (const auto* rescale : {"group", "channel", "sample_channel"}) {
      const auto method = make_method(fmt::format("sdgp:n=2,m=4,rescale={}", rescale));
      const auto kept = pruned_by(*method, o);
      // Of equal entries the first two channels of four stay. Their own planes' sums are kept, or
      // that of the group, which is twice as much.
      const double expected = std::string(rescale) == "group" ? 40 : 20;
      EXPECT_EQ(kept.narrow(1, 0, 2).to(at::kFloat).min().item<double>(), expected) << rescale;
      EXPECT_EQ(kept.to(at::kFloat).max().item<double>(), expected) << rescale;
      EXPECT_EQ(kept.scalar_type(), type);
    }
  }
}

TEST(Sdgp, RejectsMoreThanAllAndWideGroups) {
  EXPECT_THROW(make_method("sdgp:n=3,m=2"), Error);
  EXPECT_THROW(make_method("sdgp:n=1,m=33"), Error);
  EXPECT_THROW(make_method("sdgp:n=0"), Error);
}

// --- stochastic pruning --------------------------------------------------------------------------

// Phi^-1 by bisection of the error function.
double normal_quantile(double q) {
  double low = -10, high = 10;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < q ? low : high) = middle;
  }
  return low;
}

double threshold_of(const at::Tensor& g, double p) {
  const double pi = std::acos(-1.0);
  const double mean = g.abs().to(at::kDouble).mean().item<double>();
  return normal_quantile((1 + p) / 2) * std::sqrt(pi / 2) * mean;
}

TEST(StochasticPruning, EachEntryIsWhatItsDrawSays) {
  for (const auto& shape : random_shapes(20, 21)) {
    SCOPED_TRACE(shape);
    const auto o = gradient_operands(shape);
    const Rng rng{.seed = 4, .layer = 1, .step = 2, .product = Product::kDataGradient};
    const auto method = make_method("stochastic_pruning:p=0.8");
    const double tau = threshold_of(o.dy, 0.8);
    const reference::Array g(o.dy);
    reference::Array expected(g.sizes);
    uint32_t element = 0;  // in the order example, row, column, channel
    bool borderline = false;
    for (int64_t n = 0; n < g.sizes[0]; ++n) {
      for (int64_t y = 0; y < g.sizes[2]; ++y) {
        for (int64_t x = 0; x < g.sizes[3]; ++x) {
          for (int64_t c = 0; c < g.sizes[1]; ++c, ++element) {
            const double r = Rng::uniform(rng.block(element / 4)[element % 4]);
            const double value = g.at(n, c, y, x), size = std::abs(value);
            double& stays = expected.at(n, c, y, x);
            stays = size >= tau ? value : size > r * tau ? std::copysign(tau, value) : 0;
            borderline |=
                std::abs(size - tau) < 1e-5 * tau || std::abs(size - r * tau) < 1e-5 * tau;
          }
        }
      }
    }
    if (borderline) continue;  // float and double may decide otherwise
    EXPECT_CLOSE(pruned_by(*method, o, rng), expected.tensor());
    for (const auto product : kGradients) {
      auto with = o;
      with.product = product;
      auto replaced = with;
      replaced.dy = expected.tensor().to(at::kFloat);
      EXPECT_CLOSE(run(method->plan(with, {.rng = rng, .norm_follows = true}), with),
                   reference::product(replaced).tensor());
    }
  }
}

TEST(StochasticPruning, LoopAndTensorOperationsAgreeToTheBit) {
  for (const auto& shape : random_shapes(10, 22)) {
    const auto dy = random_operands(shape).dy;
    const auto tau = at::scalar_tensor(0.8f);
    const Rng rng{.seed = 3, .layer = 2, .step = 9};
    const auto loop = stochastic_pruned(dy, tau, rng);
    const auto tensors = stochastic_pruned(dy, tau, rng, Choosing::kTensors);
    EXPECT_TRUE(at::equal(loop.dy, tensors.dy)) << shape;
    EXPECT_EQ(loop.kept.item<int64_t>(), tensors.kept.item<int64_t>());
  }
}

// On normal gradients the share that stays is P(|g| >= tau) + E[|g| / tau; |g| < tau] =
// 1 - p + (2 / z) (phi(0) - phi(z)) with z = Phi^-1((1 + p) / 2). A million entries: the standard
// error of a share is at most 0.0005, so 1 % (of the smallest, 0.31) is 6 of them.
TEST(StochasticPruning, DensityOfNormalGradientsIsTheAnalyticOne) {
  at::manual_seed(3);
  Operands o = operands_with_dy(at::randn({10, 100, 25, 40}) * 1e-4);
  const MethodCall before_norm{.rng = {.seed = 1}, .norm_follows = true};
  const double pi = std::acos(-1.0);
  for (const auto& [p, printed] :
       {std::pair{0.7, 0.620}, {0.8, 0.549}, {0.9, 0.460}, {0.99, 0.309}}) {
    const double z = normal_quantile((1 + p) / 2);
    const double analytic = 1 - p + 2 / z * (1 - std::exp(-z * z / 2)) / std::sqrt(2 * pi);
    EXPECT_NEAR(analytic, printed, 0.0006);
    const auto method = make_method(fmt::format("stochastic_pruning:p={}", p));
    const auto plan = method->plan(o, before_norm);
    const double density = std::get<PrunedDY>(plan).kept.item<double>() / 1e6;
    EXPECT_NEAR(density, analytic, 0.01 * analytic) << p;
  }
  // Eq. 2 as printed prunes less.
  const auto plan = make_method("stochastic_pruning:p=0.9,sigma=printed")->plan(o, before_norm);
  EXPECT_NEAR(std::get<PrunedDY>(plan).kept.item<double>() / 1e6, 0.617, 0.005);
}

TEST(StochasticPruning, IsUnbiasedWithTheVarianceOfItsDefinition) {
  const auto o = gradient_operands({3, 4, 5, 6, 3, 1, 1});
  const auto method = make_method("stochastic_pruning:p=0.9");
  constexpr int kDraws = 4000;
  const auto g = o.dy.to(at::kDouble);
  auto sum = at::zeros_like(g), squares = at::zeros_like(g);
  for (uint64_t step = 0; step < kDraws; ++step) {
    const auto draw = pruned_by(*method, o, Rng{.seed = 9, .step = step}).to(at::kDouble);
    sum += draw;
    squares += draw * draw;
  }
  const double tau = threshold_of(o.dy, 0.9);
  const auto below = g.abs() < tau;
  // Var = tau |g| - g^2 below tau, else 0; 5.5 standard errors on 540 elements each.
  const auto variance = at::where(below, tau * g.abs() - g * g, at::zeros_like(g));
  const auto allowed = 5.5 * (variance / kDraws).sqrt() + 1e-6;
  EXPECT_TRUE(((sum / kDraws - g).abs() <= allowed).all().item<bool>());
  const auto second = at::where(below, tau * g.abs(), g * g);
  const auto spread = (tau * tau * second - second * second).clamp_min(0) / kDraws;
  EXPECT_TRUE(((squares / kDraws - second).abs() <= 5.5 * spread.sqrt() + 1e-5).all().item<bool>());
}

// In 16 bits tau is written with a few digits. At thresholds that lie unluckily between two numbers
// of the type, the mean of what stays of two million entries is that of what came, within 4
// standard errors. Compared with the threshold itself and written rounded, at 1.0039e-5 it would be
// a quarter of a percent less, 10 of them. (So small a number is subnormal in fp16, with as few
// digits.)
TEST(StochasticPruning, IsUnbiasedInHalfPrecision) {
  for (const auto& [type, threshold] :
       {std::pair{at::kBFloat16, 1.0039e-5f}, {at::kHalf, 1.0039e-5f}, {at::kHalf, 6.3e-7f}}) {
    const auto tau = at::scalar_tensor(threshold);
    const double rounded = tau.to(type).to(at::kDouble).item<double>();
    ASSERT_GT(std::abs(rounded / threshold - 1), 0.002) << "this one is hardly rounded";
    const auto dy = at::full({64, 64, 16, 32}, 0.9 * rounded, type);
    const double entry = dy[0][0][0][0].to(at::kDouble).item<double>();
    const auto kept = stochastic_pruned(dy, tau, Rng{.seed = 8}).dy.to(at::kDouble);
    const auto n = static_cast<double>(dy.numel());
    const double error = std::sqrt((rounded * entry - entry * entry) / n);
    EXPECT_NEAR(kept.mean().item<double>(), entry, 4 * error) << type << " " << threshold;
  }
}

TEST(StochasticPruning, PlacementFollowsTheNorm) {
  auto o = gradient_operands({2, 3, 5, 7, 3, 1, 1});
  const auto automatic = make_method("stochastic_pruning"),
             output = make_method("stochastic_pruning:placement=output"),
             input = make_method("stochastic_pruning:placement=input");
  const MethodCall before_norm{.norm_follows = true};
  EXPECT_TRUE(std::holds_alternative<PrunedDY>(automatic->plan(o, before_norm)));
  EXPECT_TRUE(std::holds_alternative<Dense>(input->plan(o, before_norm)));
  EXPECT_TRUE(std::holds_alternative<Dense>(automatic->plan(o, {})));
  EXPECT_TRUE(std::holds_alternative<PrunedDY>(output->plan(o, {})));

  // In front of a ReLU dX is pruned once it is computed, and dW is exact.
  const auto dx = run(Dense{}, o);
  const Rng rng{.seed = 2};
  const auto finished = automatic->finish(o, dx, {.rng = rng});
  const auto expected =
      stochastic_pruned(dx, at::scalar_tensor(static_cast<float>(threshold_of(dx, 0.9))), rng);
  EXPECT_CLOSE(finished.result, expected.dy);
  EXPECT_EQ(finished.kept.item<int64_t>(), finished.result.count_nonzero().item<int64_t>());
  o.product = Product::kWeightGradient;
  EXPECT_FALSE(automatic->finish(o, run(Dense{}, o), {.rng = rng}).kept.defined());
}

TEST(StochasticPruning, NothingChangesWithoutAThreshold) {
  for (const auto& dy : {at::zeros({2, 3, 4, 4}), at::full({2, 3, 4, 4}, 1e-42f)}) {
    const auto o = operands_with_dy(dy);
    const auto pruned = pruned_by(*make_method("stochastic_pruning:p=0"), o);
    EXPECT_TRUE(at::equal(pruned, dy));
  }
}

TEST(StochasticPruning, WhatIsNoNumberStays) {
  for (const double bad : {std::nan(""), double(INFINITY)}) {
    auto o = gradient_operands({2, 3, 5, 7, 3, 1, 1});
    o.dy = o.dy.clone();
    o.dy[1][2][0][0] = bad;
    EXPECT_FALSE(at::isfinite(pruned_by(*make_method("stochastic_pruning"), o)).all().item<bool>());
  }
}

// --- meprop --------------------------------------------------------------------------------------

std::vector<size_t> order_by_size(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
  return order;
}

at::Tensor largest_by_definition(const at::Tensor& dy, int64_t k) {
  reference::Array g(dy);
  const int64_t length = dy[0].numel();
  for (int64_t n = 0; n < dy.size(0); ++n) {
    const auto begin = g.values.begin() + n * length;
    std::vector<double> example(begin, begin + length);
    const auto order = order_by_size(example);
    for (int64_t i = k; i < length; ++i) {
      g.values[static_cast<size_t>(n * length) + order[static_cast<size_t>(i)]] = 0;
    }
  }
  return g.tensor();
}

TEST(Meprop, KeepsTheLargestOfEachExample) {
  for (const auto& shape : random_shapes(15, 31)) {
    SCOPED_TRACE(shape);
    auto o = gradient_operands(shape);
    for (const int64_t k : {1, 3, 10, 100000}) {
      const auto method = make_method(fmt::format("meprop:k={}", k));
      const auto expected = largest_by_definition(o.dy, std::min(k, o.dy[0].numel()));
      EXPECT_TRUE(at::equal(pruned_by(*method, o).to(at::kDouble), expected)) << k;
    }
  }
  auto ties = at::ones({2, 4, 1, 3});
  ties[1][3][0][2] = -1;
  const auto kept = largest_of_each_example(ties, 5).dy;
  EXPECT_TRUE(at::equal(kept, largest_by_definition(ties, 5).to(at::kFloat)));
}

// That a method keeps the half of the channels with the largest magnitudes, divided by the share of
// them where it is `rescaled`.
void expect_largest_channels(const std::string& text, bool rescaled) {
  for (const auto& shape : random_shapes(15, 32)) {
    SCOPED_TRACE(shape);
    auto o = gradient_operands(shape);
    if (shape.co < 2) continue;
    const auto method = make_method(text);
    const reference::Array g(o.dy);
    std::vector<double> sums(static_cast<size_t>(shape.co));
    for (int64_t n = 0; n < g.sizes[0]; ++n) {
      for (int64_t c = 0; c < g.sizes[1]; ++c) {
        for (int64_t y = 0; y < g.sizes[2]; ++y) {
          for (int64_t x = 0; x < g.sizes[3]; ++x) {
            sums[static_cast<size_t>(c)] += std::abs(g.at(n, c, y, x));
          }
        }
      }
    }
    std::vector<double> factor(sums.size(), 0);
    const auto order = order_by_size(sums);
    const int64_t stay = shape.co / 2;
    const double scale = rescaled ? static_cast<double>(shape.co) / static_cast<double>(stay) : 1.0;
    for (int64_t i = 0; i < stay; ++i) factor[order[static_cast<size_t>(i)]] = scale;
    const auto kept = reference::scaled(g, 1, factor).tensor().to(at::kFloat);
    for (const auto product : kGradients) {
      o.product = product;
      auto replaced = o;
      replaced.dy = kept;
      EXPECT_CLOSE(run(method->plan(o, {}), o), reference::product(replaced).tensor());
    }
  }
}

TEST(Meprop, UnifiedKeepsTheLargestChannelsOfTheBatch) {
  expect_largest_channels("meprop:per=batch,ratio=0.5", false);
}

TEST(ChannelDrop, KeepsTheLargestChannelsOfTheBatch) {
  expect_largest_channels("channel_drop:ratio=0.5", false);
  expect_largest_channels("channel_drop:ratio=0.5,rescale=true", true);
}

TEST(ChannelDrop, KeepsAtLeastOneChannelAndAtMostAll) {
  const auto o = operands_with_dy(at::randn({2, 5, 3, 3}));
  const auto kept = [&](const char* text) {
    const auto plan = make_method(text)->plan(o, {});
    const auto* sample = std::get_if<Sampled>(&plan);
    return sample == nullptr ? int64_t{5} : sample->index.numel();
  };
  EXPECT_EQ(kept("channel_drop"), 1);
  EXPECT_EQ(kept("channel_drop:ratio=0.1"), 1);
  EXPECT_EQ(kept("channel_drop:ratio=0.6"), 3);
  EXPECT_EQ(kept("channel_drop:ratio=1"), 5);
  EXPECT_THROW(make_method("channel_drop:ratio=0"), Error);
}

// --- msbp ----------------------------------------------------------------------------------------

TEST(Msbp, SendsLaterWhatItDidNotSend) {
  const auto method = make_method("msbp:ratio=0.1,eta=0.8");
  const TestShape shape{4, 3, 5, 7, 3, 1, 1};
  reference::Array memory(random_operands(shape).dy.sizes().vec());
  for (uint64_t step = 0; step < 5; ++step) {
    auto o = gradient_operands(shape, step + 1);
    const int64_t batch = step == 3 ? 2 : 4;  // a smaller last batch uses the first rows
    o.dy = o.dy.narrow(0, 0, batch);
    o.x = o.x.narrow(0, 0, batch);
    o.input_sizes[0] = batch;
    const int64_t length = o.dy[0].numel();
    const auto k = std::max<int64_t>(1, static_cast<int64_t>(0.1 * static_cast<double>(length)));
    const auto remembered = memory.tensor().narrow(0, 0, batch);
    const auto u = o.dy.to(at::kDouble) + 0.8 * remembered;
    const auto expected = largest_by_definition(u, k);
    EXPECT_CLOSE(pruned_by(*method, o), expected) << step;
    const auto rest = (u - expected).contiguous();
    std::copy_n(rest.const_data_ptr<double>(), rest.numel(), memory.values.begin());
  }
}

MethodCall scaled_call(double scale) {
  return {.norm_follows = true, .loss_scale = at::scalar_tensor(scale, at::kFloat)};
}

// A step that overflows is passed over by the optimizer: it leaves no trace in what is remembered,
// be it that dY has no number for an entry or that what goes back has none.
TEST(Msbp, AnOverflowIsNotRemembered) {
  const auto method = make_method("msbp:ratio=0.1"), twin = make_method("msbp:ratio=0.1");
  auto o = gradient_operands({4, 3, 5, 7, 3, 1, 1});
  const auto dy = o.dy.to(at::kHalf);
  const auto sent = [&](Method& by, const at::Tensor& gradient, double scale) {
    o.dy = gradient;
    return std::get<PrunedDY>(by.plan(o, scaled_call(scale))).dy;
  };
  sent(*method, dy * 8, 8);
  sent(*twin, dy * 8, 8);
  const auto before = method->memory()->clone();
  for (const double bad : {double(INFINITY), -double(INFINITY), std::nan("")}) {
    auto overflowed = dy * 8;
    overflowed[1][2][0][0] = bad;
    EXPECT_FALSE(at::isfinite(sent(*method, overflowed, 8)).all().item<bool>()) << bad;
    EXPECT_TRUE(at::equal(*method->memory(), before)) << bad;
  }
  EXPECT_TRUE(at::equal(sent(*method, dy * 4, 4), sent(*twin, dy * 4, 4))) << "no trace";
}

TEST(Msbp, ASumBeyondTheTypeIsAnOverflowToo) {
  const auto method = make_method("msbp:ratio=0.1");
  auto o = gradient_operands({4, 3, 5, 7, 3, 1, 1});
  o.dy = at::full_like(o.dy, 49152.0).to(at::kHalf);
  const auto sent = [&] { return std::get<PrunedDY>(method->plan(o, scaled_call(1))).dy; };
  EXPECT_TRUE(at::isfinite(sent()).all().item<bool>());
  const auto before = method->memory()->clone();
  EXPECT_EQ(before.max().item<double>(), 49152);
  EXPECT_FALSE(at::isfinite(sent()).all().item<bool>()) << "49,152 and 0.8 of what was left";
  EXPECT_TRUE(at::equal(*method->memory(), before));
}

}  // namespace
}  // namespace approx
