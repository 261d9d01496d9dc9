// nm_unbiased, held to the formulas of its head comment in plain loops.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "core/methods/method.h"
#include "kernels/draws.h"
#include "kernels/select/unbiased.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

// The chances of a group by sorting: the largest stay for sure while their share of the rest would
// be 1 or more. The others share the places that are left.
std::vector<double> chances_by_definition(const std::vector<float>& group, int64_t n) {
  std::vector<size_t> order(group.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return std::abs(group[a]) > std::abs(group[b]); });
  std::vector<double> chance(group.size(), 0);
  auto places = static_cast<double>(n);
  for (size_t i = 0; i < order.size() && places > 0; ++i) {
    double rest = 0;
    for (size_t j = i; j < order.size(); ++j) rest += std::abs(double{group[order[j]]});
    const double own = std::abs(double{group[order[i]]});
    if (own == 0) break;
    if (own * places >= rest) {
      chance[order[i]] = 1;
      places -= 1;
      continue;
    }
    for (size_t j = i; j < order.size(); ++j) {
      chance[order[j]] = places * std::abs(double{group[order[j]]}) / rest;
    }
    break;
  }
  return chance;
}

struct GroupOutcome {
  double probability;
  std::vector<double> values;
};

// All outcomes of a group: between the points where the choice changes, it is the same.
std::vector<GroupOutcome> group_outcomes(const std::vector<float>& group, int64_t n,
                                         Chances chances = Chances::kMagnitude) {
  const auto size = static_cast<int64_t>(group.size());
  const UnbiasedGroup choice(group.data(), size, 1, n, chances);
  std::set<double> edges = {0, 1};
  double reached = 0;
  for (int64_t i = 0; i < size; ++i) {
    if (choice.chance(i) == 1) continue;
    reached += choice.chance(i);
    edges.insert(reached - std::floor(reached));
  }
  std::vector<GroupOutcome> all;
  for (auto edge = edges.begin(); std::next(edge) != edges.end(); ++edge) {
    GroupOutcome outcome{*std::next(edge) - *edge, std::vector<double>(group.size())};
    if (outcome.probability < 1e-12) continue;  // of rounding
    choice.choose((*edge + *std::next(edge)) / 2, 1e300, outcome.values.data());
    all.push_back(std::move(outcome));
  }
  return all;
}

const std::vector<std::vector<float>>& some_groups() {
  static const std::vector<std::vector<float>> groups = {{1, 2},
                                                         {-3, 3},
                                                         {0.001f, -5},
                                                         {1, -2, 3, -4},
                                                         {1, 1, 1, 1},
                                                         {10, 1, 1, 1},     // one stays for sure
                                                         {100, -50, 1, 2},  // two do
                                                         {1, 1e-3f, 2, 1e4f},
                                                         {5, 0, 0, 1},
                                                         {0, 0, 7, 0},
                                                         {1, 2, 3},  // a last group
                                                         {0.5f, -0.25f, 3, 1, 0, 2, -2, 1, 0.125f}};
  return groups;
}

TEST(NmUnbiased, ChancesAreThoseOfTheDefinition) {
  for (const auto& group : some_groups()) {
    for (int64_t n = 1; n < static_cast<int64_t>(group.size()); ++n) {
      const UnbiasedGroup choice(group.data(), static_cast<int64_t>(group.size()), 1, n,
                                 Chances::kMagnitude);
      const auto expected = chances_by_definition(group, n);
      for (size_t i = 0; i < group.size(); ++i) {
        EXPECT_NEAR(choice.chance(static_cast<int64_t>(i)), expected[i], 1e-12) << n << " " << i;
      }
    }
  }
}

// Over all outcomes the mean is the group, the variance that of independent entries of the same
// chances, summed, and in each of them n entries stay, or all that are nonzero.
TEST(NmUnbiased, AllOutcomesOfAGroupAreUnbiasedAndKeepN) {
  for (const auto& group : some_groups()) {
    const auto nonzero =
        static_cast<int64_t>(std::ranges::count_if(group, [](float value) { return value != 0; }));
    for (int64_t n = 1; n < static_cast<int64_t>(group.size()); ++n) {
      const auto chance = chances_by_definition(group, n);
      std::vector<double> mean(group.size(), 0), square(group.size(), 0), stays(group.size(), 0);
      for (const auto& [probability, values] : group_outcomes(group, n)) {
        int64_t kept = 0;
        for (size_t i = 0; i < group.size(); ++i) {
          mean[i] += probability * values[i];
          square[i] += probability * values[i] * values[i];
          stays[i] += values[i] != 0 ? probability : 0;
          kept += values[i] != 0 ? 1 : 0;
        }
        EXPECT_EQ(kept, std::min(n, nonzero));
      }
      for (size_t i = 0; i < group.size(); ++i) {
        const double g = group[i], size = std::abs(g);
        EXPECT_NEAR(mean[i], g, 1e-9 * size) << n << " " << i;
        EXPECT_NEAR(stays[i], chance[i], 1e-9);
        if (g == 0) continue;
        EXPECT_NEAR(square[i] - mean[i] * mean[i], g * g * (1 / chance[i] - 1),
                    1e-8 * g * g / chance[i]);
      }
    }
  }
}

// Any other chances have a larger variance.
TEST(NmUnbiased, NoOtherChancesHaveLessVariance) {
  const std::vector<float> group = {1, -2, 3, -4};
  const auto variance = [&](const std::vector<double>& chance) {
    double sum = 0;
    for (size_t i = 0; i < group.size(); ++i) {
      sum += group[i] * group[i] * (1 / chance[i] - 1);
    }
    return sum;
  };
  const auto best = chances_by_definition(group, 2);
  for (size_t from = 0; from < 4; ++from) {
    for (size_t to = 0; to < 4; ++to) {
      if (from == to) continue;
      auto other = best;
      other[from] -= 0.05, other[to] += 0.05;
      EXPECT_GT(variance(other), variance(best));
    }
  }
  EXPECT_GT(variance({0.5, 0.5, 0.5, 0.5}), variance(best));
}

TEST(NmUnbiased, EqualChancesLookAtNoMagnitude) {
  const std::vector<float> group = {1, 0, -8, 3};
  std::vector<double> mean(4, 0);
  for (const auto& [probability, values] : group_outcomes(group, 1, Chances::kEqual)) {
    EXPECT_NEAR(probability, 0.25, 1e-12);
    for (size_t i = 0; i < 4; ++i) {
      mean[i] += probability * values[i];
      EXPECT_TRUE(values[i] == 0 || values[i] == 4 * group[i]);
    }
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(mean[i], group[i], 1e-12);
}

// The whole path by the words of the stream: groups along channels for dX, along pixels for dW.
reference::Array nm_by_definition(const at::Tensor& dy, int64_t n, int64_t m, bool along_pixels,
                                  const Rng& rng) {
  const reference::Array g(dy);
  reference::Array result(g.sizes);
  const int64_t channels = g.sizes[1], columns = g.sizes[3], plane = g.sizes[2] * columns,
                pixels = g.sizes[0] * plane;
  uint32_t number = 0;
  const auto prune = [&](const std::vector<std::pair<int64_t, int64_t>>& places) {
    std::vector<float> group;
    for (const auto& [pixel, channel] : places) {
      group.push_back(static_cast<float>(
          g.at(pixel / plane, channel, pixel % plane / columns, pixel % columns)));
    }
    const auto chance = chances_by_definition(group, n);
    const double u = Rng::uniform(rng.block(number / 4)[number % 4]);
    ++number;
    double reached = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      bool stays = chance[i] == 1;
      if (!stays) {
        stays = std::ceil(reached + chance[i] - u) > std::ceil(reached - u);
        reached += chance[i];
      }
      if (!stays || group[i] == 0) continue;
      const auto [pixel, channel] = places[i];
      result.at(pixel / plane, channel, pixel % plane / columns, pixel % columns) =
          group[i] / chance[i];
    }
  };
  for (int64_t a = 0; a < pixels; a += along_pixels ? m : 1) {
    for (int64_t b = 0; b < channels; b += along_pixels ? 1 : m) {
      std::vector<std::pair<int64_t, int64_t>> places;
      for (int64_t i = 0; i < m; ++i) {
        const int64_t pixel = along_pixels ? a + i : a, channel = along_pixels ? b : b + i;
        if (pixel < pixels && channel < channels) places.emplace_back(pixel, channel);
      }
      prune(places);
    }
  }
  return result;
}

TEST(NmUnbiased, BothGradientsAreWhatTheirDrawsSay) {
  for (const auto& shape : random_shapes(8, 61)) {
    SCOPED_TRACE(shape);
    auto o = random_operands(shape);
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      o.product = product;
      const Rng rng{.seed = 4, .layer = 1, .step = 2, .product = product};
      for (const auto& [n, m] : {std::pair{1, 2}, {2, 4}, {3, 7}}) {
        const auto method = make_method(fmt::format("nm_unbiased:n={},m={}", n, m));
        const auto expected =
            nm_by_definition(o.dy, n, m, product == Product::kWeightGradient, rng);
        const auto plan = method->plan(o, {.rng = rng});
        EXPECT_CLOSE(used_gradient(plan, o.dy), expected.tensor()) << n << ":" << m;
        auto replaced = o;
        replaced.dy = expected.tensor().to(at::kFloat);
        EXPECT_CLOSE(run(plan, o), reference::product(replaced).tensor());
      }
    }
  }
}

TEST(NmUnbiased, LoopAndTensorOperationsAgreeToTheBit) {
  for (const auto& shape : random_shapes(12, 62)) {
    SCOPED_TRACE(shape);
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      auto dy = random_operands(shape).dy.to(type);
      dy.masked_fill_(dy < -1, 0);
      const Rng rng{.seed = 3, .layer = 2, .step = 9};
      for (const auto axis : {GroupAxis::kChannels, GroupAxis::kPixels}) {
        for (const auto chances : {Chances::kMagnitude, Chances::kEqual}) {
          for (const auto& [n, m] : {std::pair{1, 2}, {2, 4}, {2, 5}, {9, 32}}) {
            const UnbiasedChoice choice{.n = n, .m = m, .axis = axis, .chances = chances};
            const auto loop = unbiased_pruned(dy, choice, rng),
                       tensors = unbiased_pruned(dy, choice, rng, Choosing::kTensors);
            EXPECT_TRUE(at::equal(loop.dy, tensors.dy)) << n << ":" << m;
            EXPECT_EQ(loop.kept.item<int64_t>(), tensors.kept.item<int64_t>());
          }
        }
      }
    }
  }
}

TEST(NmUnbiased, KeepsExactlyNOfM) {
  const auto dy = at::randn({3, 8, 5, 4});
  for (const auto& [n, m] : {std::pair{1, 2}, {2, 4}, {1, 4}, {5, 8}}) {
    const UnbiasedChoice along{.n = n, .m = m};
    const auto kept = unbiased_pruned(dy, along, Rng{.seed = 1}).dy != 0;
    const auto of_groups = kept.permute({0, 2, 3, 1}).reshape({-1, 8 / m, m}).sum(-1);
    EXPECT_TRUE((of_groups == n).all().item<bool>()) << n << ":" << m;
    if (60 % m != 0) continue;
    const UnbiasedChoice across{.n = n, .m = m, .axis = GroupAxis::kPixels};
    const auto pixels = unbiased_pruned(dy, across, Rng{.seed = 1}).dy != 0;
    const auto columns = pixels.permute({0, 2, 3, 1}).reshape({60 / m, m, 8}).sum(1);
    EXPECT_TRUE((columns == n).all().item<bool>()) << n << ":" << m;
  }
}

// The mean over draws of a gradient is the exact one, and its variance that of the formula, entry
// by entry: 5.5 standard errors on 480 entries.
TEST(NmUnbiased, IsUnbiasedWithTheVarianceOfItsDefinition) {
  const auto dy = random_operands({2, 4, 6, 8, 3, 1, 1}).dy;
  constexpr int kDraws = 4000;
  const auto g = dy.to(at::kDouble);
  const UnbiasedChoice choice{.n = 2, .m = 4};
  auto sum = at::zeros_like(g), squares = at::zeros_like(g);
  for (uint64_t step = 0; step < kDraws; ++step) {
    const auto draw = unbiased_pruned(dy, choice, Rng{.seed = 9, .step = step}).dy.to(at::kDouble);
    sum += draw;
    squares += draw * draw;
  }
  auto chance = at::empty_like(g);
  const auto each = [&](const auto& visit) {
    for (int64_t n = 0; n < dy.size(0); ++n) {
      for (int64_t y = 0; y < dy.size(2); ++y) {
        for (int64_t x = 0; x < dy.size(3); ++x) {
          for (int64_t c = 0; c < dy.size(1); c += 4) visit(n, y, x, c);
        }
      }
    }
  };
  each([&](int64_t n, int64_t y, int64_t x, int64_t c) {
    std::vector<float> group;
    for (int64_t i = 0; i < 4; ++i) group.push_back(dy[n][c + i][y][x].item<float>());
    const auto of_group = chances_by_definition(group, 2);
    for (int64_t i = 0; i < 4; ++i) {
      chance[n][c + i][y][x].fill_(of_group[static_cast<size_t>(i)]);
    }
  });
  const auto variance = (g * g * (1 / chance - 1)).clamp_min(0);
  const auto allowed = 5.5 * (variance / kDraws).sqrt() + 1e-6 * g.abs();
  EXPECT_TRUE(((sum / kDraws - g).abs() <= allowed).all().item<bool>());
  // g^2/p with probability p, else 0.
  const auto second = g * g / chance;
  const auto spread = (second * second * (1 / chance - 1)).clamp_min(0) / kDraws;
  EXPECT_TRUE(((squares / kDraws - second).abs() <= 5.5 * spread.sqrt() + 1e-5 * second)
                  .all()
                  .item<bool>());
}

TEST(NmUnbiased, ZerosStayZeroAndWhatIsNoNumberStays) {
  const auto zeros = unbiased_pruned(at::zeros({2, 5, 3, 3}), {}, Rng{});
  EXPECT_EQ(zeros.kept.item<int64_t>(), 0);
  EXPECT_EQ(zeros.dy.abs().max().item<float>(), 0);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const auto how : {Choosing::kFastest, Choosing::kTensors}) {
      auto dy = at::tensor({1.f, 2.f, bad, 4.f}).view({1, 4, 1, 1});
      const auto once = unbiased_pruned(dy, {}, Rng{.seed = 3}, how).dy.flatten();
      EXPECT_FALSE(std::isfinite(once[2].item<float>()));
      // One place is left for the others.
      EXPECT_EQ(once.isfinite().logical_and(once != 0).sum().item<int64_t>(), 1);
      EXPECT_EQ(once.abs().masked_select(once.isfinite()).max().item<float>(), 7);
      const auto all = unbiased_pruned(at::full({1, 4, 1, 1}, bad), {}, Rng{}, how).dy.flatten();
      EXPECT_EQ(all.isfinite().sum().item<int64_t>(), 2);
    }
  }
}

// A result beyond the range of the precision becomes its largest number, not an infinity.
TEST(NmUnbiased, FarGradientsStayFinite) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const double size = type == at::kHalf ? 6e4 : 3e38;
    for (const auto chances : {Chances::kMagnitude, Chances::kEqual}) {
      const auto dy = at::full({1, 4, 4, 4}, size, type);
      const auto kept = unbiased_pruned(dy, {.n = 1, .m = 4, .chances = chances}, Rng{}).dy;
      EXPECT_TRUE(kept.isfinite().all().item<bool>()) << type;
      EXPECT_EQ((kept != 0).sum().item<int64_t>(), 16);
    }
  }
  const auto small = unbiased_pruned(at::full({1, 4, 4, 4}, 1e-42), {}, Rng{}).dy;
  EXPECT_EQ((small != 0).sum().item<int64_t>(), 32);
}

TEST(NmUnbiased, EqualForAnyNumberOfThreads) {
  const auto dy = at::randn({16, 32, 16, 16});
  const auto threads = at::get_num_threads();
  for (const auto axis : {GroupAxis::kChannels, GroupAxis::kPixels}) {
    const UnbiasedChoice choice{.axis = axis};
    at::set_num_threads(1);
    const auto alone = unbiased_pruned(dy, choice, Rng{.seed = 2});
    for (const int count : {2, 3, 5}) {
      at::set_num_threads(count);
      const auto together = unbiased_pruned(dy, choice, Rng{.seed = 2});
      EXPECT_TRUE(at::equal(together.dy, alone.dy)) << count;
      EXPECT_EQ(together.kept.item<int64_t>(), alone.kept.item<int64_t>());
    }
  }
  at::set_num_threads(threads);
}

TEST(NmUnbiased, AllOfMIsExactAndBadGroupsAreRefused) {
  const auto o = operands_with_dy(at::randn({1, 4, 3, 3}));
  EXPECT_TRUE(std::holds_alternative<Dense>(make_method("nm_unbiased:n=4")->plan(o, {})));
  EXPECT_THROW(make_method("nm_unbiased:n=3,m=2"), Error);
  EXPECT_THROW(make_method("nm_unbiased:m=33"), Error);
  EXPECT_THROW(make_method("nm_unbiased:n=0"), Error);
  EXPECT_THROW(make_method("nm_unbiased:chances=none"), Error);
}

}  // namespace
}  // namespace approx
