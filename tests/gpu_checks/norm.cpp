#include <algorithm>
#include <cmath>

#include "tests/gpu_checks/norm_maps.h"

namespace approx {
namespace {

template <typename Number, int kWidth>
std::string statistics_agree(uint64_t seed) {
  Draws draw(seed);
  const NormMaps<Number> maps(draw, kWidth);
  constexpr double kEpsilon = 1e-3;
  const int64_t channels = maps.channels;
  std::vector<double> wanted(static_cast<size_t>(3 * channels));
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0, square = 0;
    for (int64_t row = 0; row < maps.rows; ++row) {
      sum += maps.x[static_cast<size_t>(row * channels + c)];
    }
    const double mean = sum / static_cast<double>(maps.rows);
    for (int64_t row = 0; row < maps.rows; ++row) {
      square += std::pow(maps.x[static_cast<size_t>(row * channels + c)] - mean, 2);
    }
    const double variance = square / static_cast<double>(maps.rows);
    wanted[static_cast<size_t>(c)] = mean;
    wanted[static_cast<size_t>(channels + c)] = variance;
    wanted[static_cast<size_t>(2 * channels + c)] = 1 / std::sqrt(variance + kEpsilon);
  }
  const GpuArray<Number> x(as_numbers<Number>(maps.x));
  std::vector<float> got;
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<float> partial(row_blocks(maps.rows) * 2 * channels);
        GpuArray<float> mean(channels), variance(channels), inverse(channels);
        const NormStatisticsOnGpu<Number> on{maps.rows,       channels,       x.data(),
                                             kEpsilon,        partial.data(), mean.data(),
                                             variance.data(), inverse.data()};
        std::string failed = emulate(NormMomentsGpu<Number, kWidth>{on}, order);
        if (failed.empty()) failed = emulate(NormMomentsEnd<Number>{on}, order);
        if (!partial.intact() || !mean.intact() || !variance.intact() || !inverse.intact()) {
          failed = "it wrote elsewhere";
        }
        results = joined(mean, variance, inverse);
        return failed;
      },
      got);
  if (wrong.empty()) wrong = off("statistic", got, wanted, 2e-5);
  return wrong.empty() ? wrong : fmt::format("{} ({})", wrong, maps.described());
}

template <typename Number, int kWidth>
std::string forward_agrees(uint64_t seed) {
  Draws draw(seed);
  const NormMaps<Number> maps(draw, kWidth);
  std::vector<float> wanted(maps.x.size()), got;
  norm_definition().apply({.channels = maps.channels,
                           .tail = maps.tail,
                           .x = maps.x.data(),
                           .scale = maps.scale.data(),
                           .offset = maps.offset.data(),
                           .residual = maps.residual.data(),
                           .y = wanted.data()},
                          0, maps.rows);
  const GpuArray<Number> x(as_numbers<Number>(maps.x)), residual(as_numbers<Number>(maps.residual));
  const GpuArray<float> scale(maps.scale), offset(maps.offset);
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<Number> y(maps.rows * maps.channels);
        const NormApply<Number> pass{
            .channels = maps.channels,
            .tail = maps.tail,
            .x = x.data(),
            .scale = scale.data(),
            .offset = offset.data(),
            .residual = maps.tail == NormTail::kAddRelu ? residual.data() : nullptr,
            .y = y.data()};
        std::string failed = emulate(NormApplyGpu<Number, kWidth>{{maps.rows, pass}}, order);
        if (!y.intact()) failed = "it wrote elsewhere";
        results = joined(y);
        return failed;
      },
      got);
  if (wrong.empty()) wrong = off("y", got, in_double(wanted), 1e-6 + kRounding<Number>);
  return wrong.empty() ? wrong : fmt::format("{} ({})", wrong, maps.described());
}

template <typename Number, int kWidth>
std::string backward_agrees(uint64_t seed) {
  Draws draw(seed);
  const NormMaps<Number> maps(draw, kWidth);
  const int64_t channels = maps.channels, count = maps.rows * channels;
  const bool adds = maps.tail == NormTail::kAddRelu;
  const auto in_channel = static_cast<size_t>(channels);
  // The definition: y, the two sums, what follows from them, dx.
  std::vector<float> y(maps.x.size()), dresidual(maps.x.size()), dx(maps.x.size());
  norm_definition().apply({channels, maps.tail, maps.x.data(), maps.scale.data(),
                           maps.offset.data(), maps.residual.data(), y.data()},
                          0, maps.rows);
  y = rounded<Number>(y);
  std::vector<float> sum(in_channel), product(in_channel), a(in_channel), b(in_channel),
      d(in_channel);
  const NormSums<float> sums{.channels = channels,
                             .tail = maps.tail,
                             .dy = maps.dy.data(),
                             .x = maps.x.data(),
                             .y = y.data(),
                             .scale = maps.scale.data(),
                             .offset = maps.offset.data(),
                             .mean = maps.mean.data(),
                             .dresidual = dresidual.data()};
  norm_definition().sums(sums, 0, maps.rows, sum.data(), product.data());
  std::vector<double> wanted;
  for (size_t c = 0; c < in_channel; ++c) {
    const double inverse = maps.inverse[c], rows = static_cast<double>(maps.rows);
    const double of_g = maps.weight[c] * inverse;
    const double of_x = -of_g * inverse * inverse * product[c] / rows;
    a[c] = static_cast<float>(of_g), b[c] = static_cast<float>(of_x);
    d[c] = static_cast<float>(-of_g * sum[c] / rows - of_x * maps.mean[c]);
    wanted.push_back(product[c] * inverse);
  }
  for (const auto* values : {&sum, &a, &b, &d}) {
    wanted.insert(wanted.end(), values->begin(), values->end());
  }
  if (adds) wanted.insert(wanted.end(), dresidual.begin(), dresidual.end());
  const NormGradient<float> gradient{.channels = channels,
                                     .relu = maps.tail == NormTail::kRelu,
                                     .dy = adds ? dresidual.data() : maps.dy.data(),
                                     .x = maps.x.data(),
                                     .scale = maps.scale.data(),
                                     .offset = maps.offset.data(),
                                     .a = a.data(),
                                     .b = b.data(),
                                     .d = d.data(),
                                     .dx = dx.data()};
  norm_definition().gradient(gradient, 0, maps.rows);
  wanted.insert(wanted.end(), dx.begin(), dx.end());

  const GpuArray<Number> there_dy(as_numbers<Number>(maps.dy)), there_x(as_numbers<Number>(maps.x)),
      there_y(as_numbers<Number>(y)), of_residual(as_numbers<Number>(dresidual));
  const GpuArray<float> scale(maps.scale), offset(maps.offset), mean(maps.mean),
      weight(maps.weight), inverse(maps.inverse), of_g(a), of_x(b), rest(d);
  std::vector<float> got;
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<float> partial(row_blocks(maps.rows) * 2 * channels), dweight(channels),
            dbias(channels), out_a(channels), out_b(channels), out_d(channels);
        GpuArray<Number> residual(adds ? count : 0), out(count);
        const NormSumsOnGpu<Number> on{.rows = maps.rows,
                                       .pass = {.channels = channels,
                                                .tail = maps.tail,
                                                .dy = there_dy.data(),
                                                .x = there_x.data(),
                                                .y = adds ? there_y.data() : nullptr,
                                                .scale = scale.data(),
                                                .offset = offset.data(),
                                                .mean = mean.data(),
                                                .dresidual = adds ? residual.data() : nullptr},
                                       .weight = weight.data(),
                                       .inverse_deviation = inverse.data(),
                                       .partial = partial.data(),
                                       .dweight = dweight.data(),
                                       .dbias = dbias.data(),
                                       .a = out_a.data(),
                                       .b = out_b.data(),
                                       .d = out_d.data()};
        std::string failed = emulate(NormSumsGpu<Number, kWidth>{on}, order);
        if (failed.empty()) failed = emulate(NormSumsEnd<Number>{on}, order);
        const NormGradient<Number> pass{.channels = channels,
                                        .relu = maps.tail == NormTail::kRelu,
                                        .dy = adds ? of_residual.data() : there_dy.data(),
                                        .x = there_x.data(),
                                        .scale = scale.data(),
                                        .offset = offset.data(),
                                        .a = of_g.data(),
                                        .b = of_x.data(),
                                        .d = rest.data(),
                                        .dx = out.data()};
        if (failed.empty()) {
          failed = emulate(
              NormGradientGpu<Number, std::min(kWidth, 4), Looking::kNot>{{maps.rows, pass}},
              order);
        }
        for (const auto* array : {&partial, &dweight, &dbias, &out_a, &out_b, &out_d}) {
          if (!array->intact()) failed = "it wrote elsewhere";
        }
        if (!residual.intact() || !out.intact()) failed = "it wrote elsewhere";
        results = joined(dweight, dbias, out_a, out_b, out_d, residual, out);
        return failed;
      },
      got);
  // Sums of some hundred numbers of size 100.
  const auto sums_end = wanted.size() - static_cast<size_t>(count);
  if (wrong.empty()) {
    wrong = off("result", std::span(got).first(sums_end), std::span(wanted).first(sums_end), 1e-4);
  }
  if (wrong.empty()) {
    wrong = off("dx", std::span(got).subspan(sums_end), std::span(wanted).subspan(sums_end),
                1e-4 + kRounding<Number>);
  }
  return wrong.empty() ? wrong : fmt::format("{} ({})", wrong, maps.described());
}

template <typename Number, int kWidth, Looking kLooking>
std::string looks_agree(uint64_t seed) {
  Draws draw(seed);
  const NormMaps<Number> maps(draw, kWidth);
  const int64_t count = maps.rows * maps.channels;
  const Rng rng{.seed = seed, .layer = 3, .step = (uint64_t{1} << 40) + seed, .rank = 2};
  // Of numbers that are mostly below 2, some of which are no numbers.
  const float tau = static_cast<float>(Number(0.7F * static_cast<float>(draw.below(4))));
  auto rest = maps.offset;
  for (size_t c = 0; c < rest.size(); ++c) rest[c] += 0.01F * static_cast<float>(draw.below(100));
  auto gradient = maps.dy;
  if (draw.below(4) == 0) gradient[static_cast<size_t>(draw.below(count))] = NAN;
  const GpuArray<Number> dy(as_numbers<Number>(gradient)), x(as_numbers<Number>(maps.x));
  const GpuArray<float> scale(maps.scale), offset(maps.offset), weight(maps.weight),
      there_rest(rest), there_tau(std::vector<float>{tau});
  const auto on = [&](Number* dx) {
    return NormGradientOnGpu<Number>{.rows = maps.rows,
                                     .pass = {.channels = maps.channels,
                                              .relu = maps.tail == NormTail::kRelu,
                                              .dy = dy.data(),
                                              .x = x.data(),
                                              .scale = scale.data(),
                                              .offset = offset.data(),
                                              .a = weight.data(),
                                              .b = scale.data(),
                                              .d = there_rest.data(),
                                              .dx = dx},
                                     .look = {},
                                     .partial = nullptr};
  };
  GpuArray<Number> plain(count);
  std::string wrong =
      emulate(NormGradientGpu<Number, kWidth, Looking::kNot>{on(plain.data())}, Order::kForwards);
  const bool prunes = kLooking == Looking::kPruning;
  const auto wanted = looked_at<Number>(plain.values(), rng, prunes ? &tau : nullptr);
  std::vector<Number> got;
  std::string in_orders = in_all_orders<std::vector<Number>>(
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
        there.partial = partial.data();
        const NormGradientGpu<Number, kWidth, kLooking> kernel{there};
        std::string failed = emulate(kernel, order);
        const int64_t sums = kernel.grid().x * kernel.grid().y;
        if (failed.empty()) {
          failed = emulate(MeanOfPartials{count, sums, partial.data(), mean.data()}, order);
        }
        if (!dx.intact() || !mean.intact() || !kept.intact() || !partial.intact()) {
          failed = "it wrote elsewhere";
        }
        if (failed.empty() && *kept.data() != wanted.kept) {
          failed = fmt::format("{} counted and not {}", *kept.data(), wanted.kept);
        }
        const double found = *mean.data();
        const bool is_mean = std::isnan(wanted.mean)
                                 ? std::isnan(found)
                                 : std::abs(found - wanted.mean) <= 1e-5 * wanted.mean;
        if (failed.empty() && !is_mean) {
          failed = fmt::format("a mean of {} and not {}", found, wanted.mean);
        }
        results = dx.values();
        return failed;
      },
      got);
  if (wrong.empty()) wrong = in_orders;
  if (wrong.empty() && !same_bits(got, wanted.dx)) wrong = "other bits than in two passes";
  return wrong.empty() ? wrong : fmt::format("{} ({}, tau {})", wrong, maps.described(), tau);
}

std::vector<Agreement> norm_on_gpu() {
  std::vector<Agreement> all;
  const auto add = [&]<typename Number>(Number, const std::string& of) {
    const auto named = [&](const char* what) { return fmt::format("norm{}: {}", of, what); };
    all.push_back({named("statistics, fours"), statistics_agree<Number, 4>});
    if constexpr (kMostMoved < Number >> 4) {
      all.push_back({named("statistics, eights"), statistics_agree<Number, 8>});
      all.push_back({named("backward, eights"), backward_agrees<Number, 8>});
    }
    all.push_back({named("statistics, one by one"), statistics_agree<Number, 1>});
    all.push_back({named("forward, fours"), forward_agrees<Number, 4>});
    all.push_back({named("forward, one by one"), forward_agrees<Number, 1>});
    all.push_back({named("backward, fours"), backward_agrees<Number, 4>});
    all.push_back({named("backward, one by one"), backward_agrees<Number, 1>});
    all.push_back({named("magnitude, fours"), looks_agree<Number, 4, Looking::kAdding>});
    all.push_back({named("magnitude, one by one"), looks_agree<Number, 1, Looking::kAdding>});
    all.push_back({named("pruning, fours"), looks_agree<Number, 4, Looking::kPruning>});
    all.push_back({named("pruning, one by one"), looks_agree<Number, 1, Looking::kPruning>});
  };
  add(float(), "");
  add(BFloat16(), " of bfloat16");
  add(Float16(), " of float16");
  return all;
}

const GpuChecks kChecks{norm_on_gpu};

}  // namespace

}  // namespace approx
