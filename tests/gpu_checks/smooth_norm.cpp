#include <algorithm>
#include <cmath>

#include "tests/gpu_checks/norm_maps.h"

namespace approx {
namespace {

constexpr float kAlpha = 0.5F;

template <typename Number, int kWidth>
std::string forward_agrees(uint64_t seed) {
  Draws draw(seed);
  const NormMaps<Number> maps(draw, kWidth, Makes::kRows, /*is_smooth_tail=*/true);
  std::vector<float> wanted(maps.x.size()), got;
  norm_definition().apply({.channels = maps.channels,
                           .tail = maps.tail,
                           .x = maps.x.data(),
                           .scale = maps.scale.data(),
                           .offset = maps.offset.data(),
                           .residual = maps.residual.data(),
                           .y = wanted.data(),
                           .alpha = kAlpha},
                          0, maps.rows);
  const GpuArray<Number> x(as_numbers<Number>(maps.x)), residual(as_numbers<Number>(maps.residual));
  const AffineThere affine(maps);
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<Number> y(maps.rows * maps.channels);
        const NormApply<Number> pass{
            .channels = maps.channels,
            .tail = maps.tail,
            .x = x.data(),
            .residual = adds_residual(maps.tail) ? residual.data() : nullptr,
            .y = y.data(),
            .alpha = kAlpha};
        std::string failed =
            emulate(NormApplyGpu<Number, kWidth, true>{{maps.rows, pass, affine.on()}}, order);
        if (!y.intact()) failed = "it wrote elsewhere";
        results = joined(y);
        return failed;
      },
      got);
  if (wrong.empty()) wrong = off("y", got, in_double(wanted), 2e-6 + kRounding<Number>);
  return wrong.empty() ? wrong : fmt::format("{} ({})", wrong, maps.described());
}

// The sums, and the residual's gradient.
template <typename Number, int kWidth>
std::string sums_agree(uint64_t seed) {
  Draws draw(seed);
  const NormMaps<Number> maps(draw, kWidth, Makes::kSums, /*is_smooth_tail=*/true);
  const auto channels = static_cast<size_t>(maps.channels);
  const bool adds = adds_residual(maps.tail);
  std::vector<float> sum(channels), product(channels), dresidual(adds ? maps.x.size() : 0);
  norm_definition().sums({.channels = maps.channels,
                          .tail = maps.tail,
                          .dy = maps.dy.data(),
                          .x = maps.x.data(),
                          .residual = maps.residual.data(),
                          .scale = maps.scale.data(),
                          .offset = maps.offset.data(),
                          .mean = maps.mean.data(),
                          .dresidual = dresidual.data(),
                          .alpha = kAlpha},
                         0, maps.rows, sum.data(), product.data());
  auto wanted = in_double(sum);
  wanted.insert(wanted.end(), product.begin(), product.end());
  const GpuArray<Number> dy(as_numbers<Number>(maps.dy)), x(as_numbers<Number>(maps.x)),
      residual(as_numbers<Number>(maps.residual));
  const AffineThere affine(maps);
  std::vector<float> got;
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        RoomThere room(maps.rows, maps.channels);
        GpuArray<double> both(2 * maps.channels);
        GpuArray<float> dweight(maps.channels), dbias(maps.channels), a(maps.channels),
            b(maps.channels), d(maps.channels);
        GpuArray<Number> of_residual(adds ? maps.rows * maps.channels : 0);
        NormSumsOnGpu<Number> on;
        on.rows = maps.rows;
        on.pass = {.channels = maps.channels,
                   .tail = maps.tail,
                   .dy = dy.data(),
                   .x = x.data(),
                   .residual = adds ? residual.data() : nullptr,
                   .dresidual = adds ? of_residual.data() : nullptr,
                   .alpha = kAlpha};
        on.affine = affine.on();
        on.dweight = dweight.data(), on.dbias = dbias.data();
        on.a = a.data(), on.b = b.data(), on.d = d.data();
        on.sums = both.data();
        on.room = room.room();
        on.most_blocks = maps.most_blocks;
        std::string failed = emulate(NormSumsGpu<Number, kWidth, true>{on}, order);
        if (failed.empty()) failed = room.wrong();
        if (!both.intact() || !of_residual.intact()) failed = "it wrote elsewhere";
        results = joined(both);
        const auto written = joined(of_residual);
        results.insert(results.end(), written.begin(), written.end());
        return failed;
      },
      got);
  if (wrong.empty()) wrong = off("sum", std::span(got).first(wanted.size()), wanted, 1e-4);
  if (wrong.empty()) {
    wrong = off("dresidual", std::span(got).subspan(wanted.size()), in_double(dresidual),
                2e-6 + kRounding<Number>);
  }
  return wrong.empty() ? wrong : fmt::format("{} ({})", wrong, maps.described());
}

template <typename Number, int kWidth, Looking kLooking>
std::string gradient_agrees(uint64_t seed) {
  Draws draw(seed);
  const NormMaps<Number> maps(draw, kWidth, Makes::kRows, /*is_smooth_tail=*/true);
  const int64_t count = maps.rows * maps.channels;
  // What is behind an addition has no slope in this pass.
  const auto smooth = adds_residual(maps.tail) ? NormTail::kGelu : maps.tail;
  const Rng rng{.seed = seed, .layer = 3, .step = seed, .rank = 2};
  const float tau = static_cast<float>(Number(0.7F * static_cast<float>(draw.below(4))));
  const GpuArray<Number> dy(as_numbers<Number>(maps.dy)), x(as_numbers<Number>(maps.x));
  const AffineThere affine(maps);
  const GpuArray<float> a(maps.weight), b(maps.inverse), d(maps.mean),
      there_tau(std::vector<float>{tau});
  const auto on = [&](Number* dx) {
    return NormGradientOnGpu<Number>{.rows = maps.rows,
                                     .pass = {.channels = maps.channels,
                                              .dy = dy.data(),
                                              .x = x.data(),
                                              .a = a.data(),
                                              .b = b.data(),
                                              .d = d.data(),
                                              .dx = dx,
                                              .smooth = smooth,
                                              .alpha = kAlpha},
                                     .affine = affine.on(),
                                     .look = {},
                                     .partial = nullptr};
  };
  std::vector<float> wanted(maps.x.size());
  norm_definition().gradient({.channels = maps.channels,
                              .dy = maps.dy.data(),
                              .x = maps.x.data(),
                              .scale = maps.scale.data(),
                              .offset = maps.offset.data(),
                              .a = maps.weight.data(),
                              .b = maps.inverse.data(),
                              .d = maps.mean.data(),
                              .dx = wanted.data(),
                              .smooth = smooth,
                              .alpha = kAlpha},
                             0, maps.rows);
  GpuArray<Number> plain(count);
  std::string wrong = emulate(
      NormGradientGpu<Number, kWidth, true, Looking::kNot>{on(plain.data())}, Order::kForwards);
  if (wrong.empty()) wrong = off("dx", joined(plain), in_double(wanted), 1e-4 + kRounding<Number>);
  const bool prunes = kLooking == Looking::kPruning;
  const auto looked = looked_at<Number>(plain.values(), rng, prunes ? &tau : nullptr);
  std::vector<Number> got;
  const std::string in_orders = in_all_orders<std::vector<Number>>(
      [&](Order order, std::vector<Number>& results) {
        GpuArray<Number> dx(count);
        GpuArray<float> mean(1);
        GpuArray<int64_t> kept(std::vector<int64_t>{0});
        GpuArray<double> partial(most_norm_blocks(maps.rows, maps.channels));
        auto there = on(dx.data());
        there.look.mean = mean.data();
        if (prunes) {
          there.look.tau = there_tau.data();
          there.look.kept = kept.data();
          there.look.rng = rng;
        }
        if (kLooking != Looking::kNot) there.partial = partial.data();
        const NormGradientGpu<Number, kWidth, true, kLooking> kernel{there};
        std::string failed = emulate(kernel, order);
        if (kLooking != Looking::kNot && failed.empty()) {
          const int64_t sums = kernel.grid().x * kernel.grid().y;
          failed = emulate(MeanOfPartials{count, sums, partial.data(), mean.data()}, order);
          const double off_by = std::abs(*mean.data() - looked.mean);
          if (failed.empty() && !(off_by <= 1e-5 * looked.mean)) failed = "another mean";
        }
        if (failed.empty() && *kept.data() != looked.kept) failed = "it counted wrongly";
        if (!dx.intact() || !mean.intact() || !kept.intact() || !partial.intact()) {
          failed = "it wrote elsewhere";
        }
        results = dx.values();
        return failed;
      },
      got);
  if (wrong.empty()) wrong = in_orders;
  if (wrong.empty() && !same_bits(got, looked.dx)) wrong = "other bits than in two passes";
  return wrong.empty() ? wrong : fmt::format("{} ({}, tau {})", wrong, maps.described(), tau);
}

std::vector<Agreement> smooth_norm_on_gpu() {
  std::vector<Agreement> all;
  const auto add = [&]<typename Number>(Number, const std::string& of) {
    const auto named = [&](const char* what) { return fmt::format("smooth norm{}: {}", of, what); };
    constexpr int kWide = kMostMoved<Number>;
    all.push_back({named("forward, sixteen bytes"), forward_agrees<Number, kWide>});
    all.push_back({named("forward, one by one"), forward_agrees<Number, 1>});
    all.push_back({named("sums, sixteen bytes"), sums_agree<Number, kWide>});
    all.push_back({named("sums, one by one"), sums_agree<Number, 1>});
    all.push_back(
        {named("gradient, sixteen bytes"), gradient_agrees<Number, kWide, Looking::kNot>});
    all.push_back({named("gradient, one by one"), gradient_agrees<Number, 1, Looking::kNot>});
    all.push_back(
        {named("magnitude, sixteen bytes"), gradient_agrees<Number, kWide, Looking::kAdding>});
    all.push_back(
        {named("pruning, sixteen bytes"), gradient_agrees<Number, kWide, Looking::kPruning>});
    all.push_back({named("pruning, one by one"), gradient_agrees<Number, 1, Looking::kPruning>});
  };
  add(float(), "");
  add(BFloat16(), " of bfloat16");
  add(Float16(), " of float16");
  return all;
}

const GpuChecks kSmoothNorms{smooth_norm_on_gpu};

}  // namespace
}  // namespace approx
