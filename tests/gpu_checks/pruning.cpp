#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/float16.h"
#include "kernels/gaussian/gaussian_gpu.h"
#include "kernels/gpu/uniform.h"
#include "kernels/select/nm_gpu.h"
#include "kernels/select/pruned_gpu.h"
#include "tests/gpu_checks/checks.h"
#include "tests/gpu_checks/nm_definition.h"
#include "tests/kernel_checks/operands.h"

namespace approx {
namespace {

int64_t drawn_count(Draws& draw) {
  return draw.below(4) == 0 ? 3000 + draw.below(17000) : 1 + draw.below(300);
}

// Few enough that threads take several turns.
int64_t drawn_blocks(Draws& draw) { return 1 + draw.below(3); }

// How far behind an address that sixteen bytes divide an array begins.
int64_t drawn_behind(Draws& draw) { return draw.below(2) == 0 ? 0 : 1 + draw.below(7); }

Rng drawn_rng(Draws& draw) {
  return {.seed = static_cast<uint64_t>(draw.below(1 << 30)),
          .layer = static_cast<uint32_t>(draw.below(1 << 16)),
          .step = (uint64_t{1} << 40) + static_cast<uint64_t>(draw.below(1 << 20)),
          .rank = static_cast<uint32_t>(draw.below(3))};
}

// A stream as it is given to a kernel: as it is, or as a captured one has it, whose step stands in
// memory, and the number beside it is that of another step.
class GivenRng {
 public:
  GivenRng(const Rng& rng, Draws& draw) : rng_(rng), step_(std::vector<uint64_t>{rng.step}) {
    if (draw.below(2) == 0) return;
    rng_.step = static_cast<uint64_t>(draw.below(1 << 20));
    rng_.step_at = step_.data();
  }

  const Rng& rng() const { return rng_; }

 private:
  Rng rng_;
  GpuArray<uint64_t> step_;
};

template <typename Number>
std::string pruning_agrees(uint64_t seed) {
  Draws draw(seed);
  const int64_t count = drawn_count(draw);
  auto floats = draw.numbers(count);
  floats[static_cast<size_t>(draw.below(count))] = std::numeric_limits<float>::quiet_NaN();
  floats[static_cast<size_t>(draw.below(count))] = -std::numeric_limits<float>::infinity();
  const auto values = as_numbers<Number>(floats);
  static constexpr float kTaus[] = {0, 1e-30F, 0.3F, 0.9F, 2};
  StochasticArgs<Number> args{.count = count,
                              .dy = values.data(),
                              .tau = static_cast<float>(Number(kTaus[draw.below(5)])),
                              .rng = drawn_rng(draw)};
  std::vector<Number> wanted(values.size()), got;
  args.pruned = wanted.data();
  const int64_t wanted_kept = stochastic_reference(args, 0, count);
  const GivenRng given(args.rng, draw);
  const bool in_place = draw.below(2) == 0;
  const int64_t blocks = drawn_blocks(draw);
  const int64_t behind = drawn_behind(draw), pruned_behind = drawn_behind(draw);

  std::string wrong = in_all_orders<std::vector<Number>>(
      [&](Order order, std::vector<Number>& results) {
        GpuArray<Number> dy(values, behind), pruned(count, pruned_behind);
        const GpuArray<float> tau(std::vector<float>{args.tau});
        GpuArray<int64_t> kept(std::vector<int64_t>{0});
        StochasticArgs<Number> there = args;
        there.dy = dy.data();
        there.pruned = in_place ? dy.data() : pruned.data();
        there.tau = std::numeric_limits<float>::quiet_NaN();
        there.rng = given.rng();
        std::string failed;
        with_stochastic_kernel<Number>(
            {there, tau.data(), kept.data()},
            [&](const auto& kernel) { failed = emulate(kernel, order); }, blocks);
        if (!dy.intact() || !pruned.intact() || !kept.intact()) failed = "it wrote elsewhere";
        if (failed.empty() && *kept.data() != wanted_kept) {
          failed = fmt::format("{} counted and not {}", *kept.data(), wanted_kept);
        }
        results = in_place ? dy.values() : pruned.values();
        return failed;
      },
      got);
  if (wrong.empty() && !same_bits(got, wanted)) {
    wrong = "other bits than the definition's";
  }
  return wrong.empty() ? wrong : fmt::format("{} ({} of tau {})", wrong, count, args.tau);
}

// N:M pruning of such groups.
template <typename Number>
std::string nm_agrees(uint64_t seed, const std::vector<int64_t>& groups) {
  Draws draw(seed);
  NmOnGpu<Number> on;
  NmArgs<Number>& args = on.args;
  args.m = groups[static_cast<size_t>(draw.below(static_cast<int64_t>(groups.size())))];
  args.n = 1 + draw.below(args.m);
  static constexpr int64_t kFours[] = {1, 2, 3, 5, 16, 25};
  args.channels = args.m <= 4 ? 4 * kFours[draw.below(6)]
                              : args.m * (1 + draw.below(draw.below(3) == 0 ? 40 : 5));
  draw_nm(seed, draw, on);
  const int64_t blocks = drawn_blocks(draw);
  const int64_t behind = drawn_behind(draw), pruned_behind = drawn_behind(draw);
  args.rng = drawn_rng(draw);
  const int64_t count = args.pixels * args.channels;
  auto floats = draw.numbers(count);
  // Ties; and what is no number, which a sum of planes would spread.
  for (auto& value : floats) value = draw.below(3) == 0 ? 0.5F : value;
  if (!on.rescale_plane && !args.rescale_group) {
    for (int i = 0; i < 3; ++i) {
      floats[static_cast<size_t>(draw.below(count))] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  const auto values = as_numbers<Number>(floats);
  int64_t wanted_kept = 0;
  const auto wanted = nm_by_definition(on, values, wanted_kept);
  std::vector<Number> got;
  const GpuArray<Number> dy(values, behind);
  const GivenRng given(args.rng, draw);
  std::string wrong = in_all_orders<std::vector<Number>>(
      [&](Order order, std::vector<Number>& results) {
        GpuArray<Number> pruned(count, pruned_behind);
        GpuArray<int64_t> kept(std::vector<int64_t>{0});
        NmOnGpu<Number> there = on;
        there.args.dy = dy.data();
        there.args.pruned = pruned.data();
        there.args.rng = given.rng();
        there.kept = kept.data();
        std::string failed;
        with_nm_kernel(
            there, [&](const auto& kernel) { failed = emulate(kernel, order); }, blocks);
        if (!pruned.intact() || !kept.intact()) failed = "it wrote elsewhere";
        if (failed.empty() && *kept.data() != wanted_kept) {
          failed = fmt::format("{} counted and not {}", *kept.data(), wanted_kept);
        }
        results = pruned.values();
        return failed;
      },
      got);
  if (wrong.empty()) wrong = nm_difference(on, got, wanted, /*signs_of_zeros=*/true);
  return wrong.empty() ? wrong : described(on, wrong);
}

template <typename Number>
std::string fours_agree(uint64_t seed) {
  return nm_agrees<Number>(seed, {2, 4});
}

template <typename Number>
std::string lanes_agree(uint64_t seed) {
  return nm_agrees<Number>(seed, {8, 16, 32});
}

template <bool kFours>
std::string normals_agree(uint64_t seed) {
  Draws draw(seed);
  const int64_t count = drawn_count(draw);
  GaussianArgs args{.mean = 0.5F, .stddev = 2, .rng = drawn_rng(draw), .count = count};
  std::vector<float> wanted(static_cast<size_t>(count)), got;
  args.out = wanted.data();
  gaussian_reference(args, 0, count);
  const GivenRng given(args.rng, draw);
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<float> out(count);
        GaussianArgs there = args;
        there.out = out.data();
        there.rng = given.rng();
        std::string failed = emulate(GaussianDraws<kFours>{there}, order);
        if (!out.intact()) failed = "it wrote elsewhere";
        results = out.values();
        return failed;
      },
      got);
  for (size_t i = 0; i < got.size() && wrong.empty(); ++i) {
    if (!(std::abs(got[i] - wanted[i]) <= 1e-5)) {
      wrong = fmt::format("draw {} is {} and not {}", i, got[i], wanted[i]);
    }
  }
  return wrong.empty() ? wrong : fmt::format("{} (of {})", wrong, count);
}

template <typename Number>
std::string mean_agrees(uint64_t seed) {
  Draws draw(seed);
  const int64_t count = drawn_count(draw), blocks = drawn_blocks(draw);
  const auto values = as_numbers<Number>(draw.numbers(count));
  double wanted = 0;
  for (const Number value : values) {
    wanted += std::abs(double{static_cast<float>(value)}) / static_cast<double>(count);
  }
  std::vector<float> got;
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        std::string failed;
        for (const int64_t behind : {0, 1}) {  // the same wherever they lie
          const GpuArray<Number> there(values, behind);
          GpuArray<double> partial(kMostPartials);
          GpuArray<float> mean(1);
          with_mean_kernels<Number>(
              {count, there.data(), partial.data(), mean.data()},
              [&](const auto& kernel) {
                if (failed.empty()) failed = emulate(kernel, order);
              },
              blocks);
          if (!partial.intact() || !mean.intact()) failed = "it wrote elsewhere";
          if (behind != 0 && mean.values() != results) failed = "another mean at another address";
          results = mean.values();
        }
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
  const GivenRng given(rng, draw);
  std::vector<float> got;
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<float> out(count);
        std::string failed = emulate(UniformDraws<kFours>{{count, out.data(), given.rng()}}, order);
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

std::vector<Agreement> pruning_on_gpu() {
  return {{"stochastic pruning", pruning_agrees<float>},
          {"stochastic pruning of bfloat16", pruning_agrees<BFloat16>},
          {"stochastic pruning of float16", pruning_agrees<Float16>},
          {"n of 2 and 4", fours_agree<float>},
          {"n of 2 and 4 of bfloat16", fours_agree<BFloat16>},
          {"n of 2 and 4 of float16", fours_agree<Float16>},
          {"n of 8, 16 and 32", lanes_agree<float>},
          {"n of 8, 16 and 32 of bfloat16", lanes_agree<BFloat16>},
          {"n of 8, 16 and 32 of float16", lanes_agree<Float16>},
          {"normal draws, fours", normals_agree<true>},
          {"normal draws, one by one", normals_agree<false>},
          {"mean magnitude", mean_agrees<float>},
          {"mean magnitude of bfloat16", mean_agrees<BFloat16>},
          {"mean magnitude of float16", mean_agrees<Float16>},
          {"uniform draws, fours", draws_agree<true>},
          {"uniform draws, one by one", draws_agree<false>}};
}

const GpuChecks kChecks{pruning_on_gpu};

}  // namespace

}  // namespace approx
