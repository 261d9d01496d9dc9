#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/gpu/uniform.h"
#include "kernels/select/pruned_gpu.h"
#include "tests/gpu_checks/checks.h"

namespace approx {
namespace {

int64_t drawn_count(Draws& draw) {
  return draw.below(4) == 0 ? 3000 + draw.below(2000) : 1 + draw.below(300);
}

// Few enough that threads take several turns.
int64_t drawn_blocks(Draws& draw) { return 1 + draw.below(3); }

Rng drawn_rng(Draws& draw) {
  return {.seed = static_cast<uint64_t>(draw.below(1 << 30)),
          .layer = static_cast<uint32_t>(draw.below(1 << 16)),
          .step = (uint64_t{1} << 40) + static_cast<uint64_t>(draw.below(1 << 20)),
          .rank = static_cast<uint32_t>(draw.below(3))};
}

template <bool kFours>
std::string pruning_agrees(uint64_t seed) {
  Draws draw(seed);
  const int64_t count = drawn_count(draw);
  auto values = draw.numbers(count);
  values[static_cast<size_t>(draw.below(count))] = std::numeric_limits<float>::quiet_NaN();
  values[static_cast<size_t>(draw.below(count))] = -std::numeric_limits<float>::infinity();
  static constexpr float kTaus[] = {0, 1e-30F, 0.3F, 0.9F, 2};
  StochasticArgs args{
      .count = count, .dy = values.data(), .tau = kTaus[draw.below(5)], .rng = drawn_rng(draw)};
  std::vector<float> wanted(values.size()), got;
  args.pruned = wanted.data();
  const int64_t wanted_kept = stochastic_reference(args, 0, count);
  const bool in_place = draw.below(2) == 0;
  const int64_t blocks = drawn_blocks(draw);

  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<float> dy(values), pruned(count);
        const GpuArray<float> tau(std::vector<float>{args.tau});
        GpuArray<int64_t> kept(std::vector<int64_t>{0});
        StochasticArgs there = args;
        there.dy = dy.data();
        there.pruned = in_place ? dy.data() : pruned.data();
        there.tau = std::numeric_limits<float>::quiet_NaN();
        std::string failed =
            emulate(StochasticPrune<kFours>{{there, tau.data(), kept.data()}, blocks}, order);
        if (!dy.intact() || !pruned.intact() || !kept.intact()) failed = "it wrote elsewhere";
        if (failed.empty() && *kept.data() != wanted_kept) {
          failed = fmt::format("{} counted and not {}", *kept.data(), wanted_kept);
        }
        results = in_place ? dy.values() : pruned.values();
        return failed;
      },
      got);
  if (wrong.empty() && std::memcmp(got.data(), wanted.data(), got.size() * sizeof(float)) != 0) {
    wrong = "other bits than the definition's";
  }
  return wrong.empty() ? wrong : fmt::format("{} ({} of tau {})", wrong, count, args.tau);
}

std::string mean_agrees(uint64_t seed) {
  Draws draw(seed);
  const int64_t count = drawn_count(draw), blocks = drawn_blocks(draw);
  const auto values = draw.numbers(count);
  double wanted = 0;
  for (const float value : values) wanted += std::abs(double{value}) / static_cast<double>(count);
  const GpuArray<float> there(values);
  std::vector<float> got;
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<double> partial(MeanMagnitudeArgs::kPartials);
        GpuArray<float> mean(1);
        const MeanMagnitudeArgs args{count, there.data(), partial.data(), mean.data()};
        const PartialMagnitudes sums{args, blocks};
        std::string failed = emulate(sums, order);
        if (failed.empty()) failed = emulate(MeanOfPartials{args, sums.grid().x}, order);
        if (!partial.intact() || !mean.intact()) failed = "it wrote elsewhere";
        results = mean.values();
        return failed;
      },
      got);
  if (wrong.empty() && !(std::abs(got[0] - wanted) <= 1e-5 * wanted)) {
    wrong = fmt::format("{} and not {}", got[0], wanted);
  }
  return wrong.empty() ? wrong : fmt::format("{} (of {})", wrong, count);
}

template <bool kFours>
std::string draws_agree(uint64_t seed) {
  Draws draw(seed);
  const int64_t count = drawn_count(draw);
  const Rng rng = drawn_rng(draw);
  std::vector<float> got;
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<float> out(count);
        std::string failed = emulate(UniformDraws<kFours>{{count, out.data(), rng}}, order);
        if (!out.intact()) failed = "it wrote elsewhere";
        results = out.values();
        return failed;
      },
      got);
  for (size_t i = 0; i < got.size() && wrong.empty(); ++i) {
    const float wanted = Rng::uniform(rng.block(static_cast<uint32_t>(i / 4))[i % 4]);
    if (got[i] != wanted) wrong = fmt::format("draw {} is {} and not {}", i, got[i], wanted);
  }
  return wrong.empty() ? wrong : fmt::format("{} (of {})", wrong, count);
}

}  // namespace

std::vector<Agreement> pruning_on_gpu() {
  return {{"stochastic pruning, fours", pruning_agrees<true>},
          {"stochastic pruning, one by one", pruning_agrees<false>},
          {"mean magnitude", mean_agrees},
          {"uniform draws, fours", draws_agree<true>},
          {"uniform draws, one by one", draws_agree<false>}};
}

}  // namespace approx
