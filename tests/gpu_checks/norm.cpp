#include <algorithm>
#include <cmath>

#include "tests/gpu_checks/norm_maps.h"

namespace approx {
namespace {

template <typename Number, int kWidth>
std::string statistics_agree(uint64_t seed) {
  Draws draw(seed);
  const NormMaps<Number> maps(draw, kWidth, Makes::kSums);
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
  // Running statistics move by them, unless there are none.
  const bool moves = draw.below(4) != 0;
  constexpr double kMomentum = 0.25, kUnbiasing = 1.5;
  const auto was_mean = eighths(draw, channels), was_variance = eighths(draw, channels);
  for (size_t c = 0; c < was_mean.size() && moves; ++c) {
    wanted.push_back((1 - kMomentum) * was_mean[c] + kMomentum * wanted[c]);
  }
  for (size_t c = 0; c < was_mean.size() && moves; ++c) {
    wanted.push_back((1 - kMomentum) * was_variance[c] +
                     kMomentum * kUnbiasing * wanted[was_mean.size() + c]);
  }
  const GpuArray<Number> x(as_numbers<Number>(maps.x));
  std::vector<float> got;
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        RoomThere room(maps.rows, channels);
        GpuArray<float> mean(channels), variance(channels), inverse(channels);
        GpuArray<float> run_mean(was_mean), run_variance(was_variance);
        NormStatisticsOnGpu<Number> on{.rows = maps.rows,
                                       .channels = channels,
                                       .x = x.data(),
                                       .epsilon = kEpsilon,
                                       .mean = mean.data(),
                                       .variance = variance.data(),
                                       .inverse_deviation = inverse.data(),
                                       .moved = {},
                                       .room = room.room(),
                                       .most_blocks = maps.most_blocks};
        if (moves) on.moved = {run_mean.data(), run_variance.data(), kMomentum, kUnbiasing};
        std::string failed = emulate(NormMomentsGpu<Number, kWidth>{on}, order);
        if (failed.empty()) failed = room.wrong();
        if (!mean.intact() || !variance.intact() || !inverse.intact() || !run_mean.intact() ||
            !run_variance.intact()) {
          failed = "it wrote elsewhere";
        }
        if (!moves && failed.empty() &&
            (run_mean.values() != was_mean || run_variance.values() != was_variance)) {
          failed = "what should stay moved";
        }
        results = joined(mean, variance, inverse);
        if (moves) {
          const auto moved = joined(run_mean, run_variance);
          results.insert(results.end(), moved.begin(), moved.end());
        }
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
  const AffineThere affine(maps);
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        GpuArray<Number> y(maps.rows * maps.channels);
        const NormApply<Number> pass{
            .channels = maps.channels,
            .tail = maps.tail,
            .x = x.data(),
            .residual = maps.tail == NormTail::kAddRelu ? residual.data() : nullptr,
            .y = y.data()};
        std::string failed =
            emulate(NormApplyGpu<Number, kWidth, false>{{maps.rows, pass, affine.on()}}, order);
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
  const NormMaps<Number> maps(draw, kWidth, Makes::kSums);
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
  const bool wants_sums = draw.below(2) == 0;
  for (const auto* values : {&sum, &product}) {
    if (wants_sums) wanted.insert(wanted.end(), values->begin(), values->end());
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
  const AffineThere affine(maps);
  const GpuArray<float> of_g(a), of_x(b), rest(d);
  std::vector<float> got;
  std::string wrong = in_all_orders<std::vector<float>>(
      [&](Order order, std::vector<float>& results) {
        RoomThere room(maps.rows, channels);
        GpuArray<float> dweight(channels), dbias(channels), out_a(channels), out_b(channels),
            out_d(channels);
        GpuArray<double> both(wants_sums ? 2 * channels : 0);
        GpuArray<Number> residual(adds ? count : 0), out(count);
        const NormSumsOnGpu<Number> on{.rows = maps.rows,
                                       .pass = {.channels = channels,
                                                .tail = maps.tail,
                                                .dy = there_dy.data(),
                                                .x = there_x.data(),
                                                .y = adds ? there_y.data() : nullptr,
                                                .dresidual = adds ? residual.data() : nullptr},
                                       .affine = affine.on(),
                                       .dweight = dweight.data(),
                                       .dbias = dbias.data(),
                                       .a = out_a.data(),
                                       .b = out_b.data(),
                                       .d = out_d.data(),
                                       .sums = wants_sums ? both.data() : nullptr,
                                       .room = room.room(),
                                       .most_blocks = maps.most_blocks};
        std::string failed = emulate(NormSumsGpu<Number, kWidth, false>{on}, order);
        if (failed.empty()) failed = room.wrong();
        const NormGradient<Number> pass{.channels = channels,
                                        .relu = maps.tail == NormTail::kRelu,
                                        .dy = adds ? of_residual.data() : there_dy.data(),
                                        .x = there_x.data(),
                                        .a = of_g.data(),
                                        .b = of_x.data(),
                                        .d = rest.data(),
                                        .dx = out.data()};
        if (failed.empty()) {
          failed = emulate(
              NormGradientGpu<Number, kWidth, false, Looking::kNot>{
                  {.rows = maps.rows, .pass = pass, .affine = affine.on(), .look = {}}},
              order);
        }
        for (const auto* array : {&dweight, &dbias, &out_a, &out_b, &out_d}) {
          if (!array->intact()) failed = "it wrote elsewhere";
        }
        if (!residual.intact() || !out.intact() || !both.intact()) failed = "it wrote elsewhere";
        results = joined(dweight, dbias, out_a, out_b, out_d, both, residual, out);
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
  auto of_g = maps.weight;
  for (size_t c = 0; c < of_g.size(); ++c) of_g[c] += maps.bias[c];
  auto gradient = maps.dy;
  if (draw.below(4) == 0) gradient[static_cast<size_t>(draw.below(count))] = NAN;
  const GpuArray<Number> dy(as_numbers<Number>(gradient)), x(as_numbers<Number>(maps.x));
  const AffineThere affine(maps);
  const GpuArray<float> there_of_g(of_g), scale(maps.scale), there_rest(rest),
      there_tau(std::vector<float>{tau});
  const auto on = [&](Number* dx) {
    return NormGradientOnGpu<Number>{.rows = maps.rows,
                                     .pass = {.channels = maps.channels,
                                              .relu = maps.tail == NormTail::kRelu,
                                              .dy = dy.data(),
                                              .x = x.data(),
                                              .a = there_of_g.data(),
                                              .b = scale.data(),
                                              .d = there_rest.data(),
                                              .dx = dx},
                                     .affine = affine.on(),
                                     .look = {},
                                     .partial = nullptr};
  };
  GpuArray<Number> plain(count);
  std::string wrong = emulate(
      NormGradientGpu<Number, kWidth, false, Looking::kNot>{on(plain.data())}, Order::kForwards);
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
        const NormGradientGpu<Number, kWidth, false, kLooking> kernel{there};
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

// Something that is no number, or is infinite, stays in its channel and is seen there.
template <typename Number, int kWidth>
std::string bad_numbers_stay(uint64_t seed) {
  Draws draw(seed);
  NormMaps<Number> maps(draw, kWidth);
  const int64_t channels = maps.channels;
  const auto at = static_cast<size_t>(draw.below(maps.rows * channels));
  const size_t bad = at % static_cast<size_t>(channels);
  const bool is_nan = draw.below(2) == 0, of_x = draw.below(2) == 0;
  const auto results = [&](Order order, std::vector<std::vector<float>>& by_channel) {
    const GpuArray<Number> x(as_numbers<Number>(maps.x)), dy(as_numbers<Number>(maps.dy)),
        residual(as_numbers<Number>(maps.residual));
    const AffineThere affine(maps);
    const bool adds = maps.tail == NormTail::kAddRelu;
    RoomThere room(maps.rows, channels);
    GpuArray<float> mean(channels), variance(channels), inverse(channels), dweight(channels),
        dbias(channels), a(channels), b(channels), d(channels);
    GpuArray<Number> y(maps.rows * channels), dresidual(maps.rows * channels);
    std::string wrong = emulate(NormMomentsGpu<Number, kWidth>{{.rows = maps.rows,
                                                                .channels = channels,
                                                                .x = x.data(),
                                                                .epsilon = 1e-3,
                                                                .mean = mean.data(),
                                                                .variance = variance.data(),
                                                                .inverse_deviation = inverse.data(),
                                                                .moved = {},
                                                                .room = room.room(),
                                                                .most_blocks = maps.most_blocks}},
                                order);
    const NormApply<Number> pass{.channels = channels,
                                 .tail = maps.tail,
                                 .x = x.data(),
                                 .residual = adds ? residual.data() : nullptr,
                                 .y = y.data()};
    if (wrong.empty()) {
      wrong = emulate(NormApplyGpu<Number, kWidth, false>{{maps.rows, pass, affine.on()}}, order);
    }
    if (wrong.empty()) {
      wrong = emulate(
          NormSumsGpu<Number, kWidth, false>{
              {.rows = maps.rows,
               .pass = {.channels = channels,
                        .tail = maps.tail,
                        .dy = dy.data(),
                        .x = x.data(),
                        .y = adds ? y.data() : nullptr,
                        .dresidual = adds ? dresidual.data() : nullptr},
               .affine = affine.on(),
               .dweight = dweight.data(),
               .dbias = dbias.data(),
               .a = a.data(),
               .b = b.data(),
               .d = d.data(),
               .room = room.room(),
               .most_blocks = maps.most_blocks}},
          order);
    }
    by_channel.assign(static_cast<size_t>(channels), {});
    for (const auto* array : {&mean, &variance, &inverse, &dweight, &dbias, &a, &b, &d}) {
      for (size_t c = 0; c < by_channel.size(); ++c) by_channel[c].push_back(array->data()[c]);
    }
    const auto out = y.values();
    for (size_t i = 0; i < out.size(); ++i) {
      by_channel[i % by_channel.size()].push_back(static_cast<float>(out[i]));
    }
    return wrong.empty() ? room.wrong() : wrong;
  };
  std::vector<std::vector<float>> without, with;
  std::string wrong = results(Order::kForwards, without);
  // A ReLU cuts nothing off there that would hide it.
  maps.weight[bad] = maps.inverse[bad] = 1;
  maps.bias[bad] = 100;
  maps.residual[at] = 1;
  (of_x ? maps.x : maps.dy)[at] = is_nan ? NAN : INFINITY;
  for (const Order order : kOrders) {
    if (!wrong.empty()) break;
    wrong = results(order, with);
    if (!wrong.empty()) break;
    for (size_t c = 0; c < with.size(); ++c) {
      if (c != bad && !same_bits(with[c], without[c])) {
        wrong = fmt::format("channel {} is not as without it", c);
      }
    }
    const auto& there = with[bad];
    const float y = there[8 + at / with.size()];
    if (of_x && (!std::isnan(there[1]) || !std::isnan(there[2]))) wrong = "a variance of it";
    if (of_x && !(is_nan ? std::isnan(y) : std::isinf(y))) wrong = "it is not in y";
    if (!of_x && !(is_nan ? std::isnan(there[4]) : std::isinf(there[4]))) wrong = "not in the sum";
    if (std::isfinite(there[7])) wrong = "dx would not show it";
  }
  return wrong.empty()
             ? wrong
             : fmt::format("{} ({} at {} of {}, {})", wrong, is_nan ? "a NaN" : "infinity", at,
                           of_x ? "x" : "dy", maps.described());
}

// How many numbers each kernel moves together that is taken for these arrays: as many as there are
// in sixteen bytes, where all lie so and have such channels, else one.
template <typename Number>
std::string widths_agree(uint64_t seed) {
  Draws draw(seed);
  static constexpr int64_t kChannels[] = {1, 3, 4, 8, 12, 16, 20, 63, 64};
  const int64_t channels = kChannels[draw.below(9)], rows = 2;
  const bool is_divided = channels % kMostMoved<Number> == 0;
  std::vector<GpuArray<Number>> maps;
  std::vector<GpuArray<float>> floats;
  for (int i = 0; i < 6; ++i) maps.emplace_back(rows * channels, 1);
  for (int i = 0; i < 7; ++i) floats.emplace_back(channels, 1);
  // Each array one number further in turn; then none.
  for (size_t moved = 0; moved <= maps.size() + floats.size(); ++moved) {
    const auto map = [&](size_t i) { return maps[i].data() - (i == moved ? 0 : 1); };
    const auto number = [&](size_t i) {
      return floats[i].data() - (i + maps.size() == moved ? 0 : 1);
    };
    const NormAffineOnGpu affine{number(0), number(1), number(2), number(3)};
    const auto is = [&](const char* what, const auto& on, bool all_lie_so) {
      int found = 0;
      with_norm_kernel(on, [&](const auto& kernel) {
        if constexpr (requires { kernel.kMoved; }) found = kernel.kMoved;
      });
      const int wanted = is_divided && all_lie_so ? kMostMoved<Number> : 1;
      return found == wanted ? std::string()
                             : fmt::format("{} moves {} of {} channels together, array {} moved",
                                           what, found, channels, moved);
    };
    // Which arrays a pass has.
    const auto lies = [&](std::initializer_list<size_t> own) {
      return std::find(own.begin(), own.end(), moved) == own.end();
    };
    NormStatisticsOnGpu<Number> statistics;
    statistics.rows = rows, statistics.channels = channels, statistics.x = map(0);
    std::string wrong = is("statistics", statistics, lies({0}));
    for (const bool is_smooth_tail : {false, true}) {
      const auto tail = is_smooth_tail ? NormTail::kAddGelu : NormTail::kAddRelu;
      NormApplyOnGpu<Number> apply;
      apply.rows = rows, apply.affine = affine;
      apply.pass.channels = channels, apply.pass.tail = tail;
      apply.pass.x = map(0), apply.pass.residual = map(1), apply.pass.y = map(2);
      if (wrong.empty()) wrong = is("forward", apply, lies({0, 1, 2, 6, 7, 8, 9}));
      NormSumsOnGpu<Number> sums;
      sums.rows = rows, sums.affine = affine;
      sums.pass.channels = channels, sums.pass.tail = tail;
      sums.pass.x = map(0), sums.pass.residual = map(1), sums.pass.y = map(2);
      sums.pass.dy = map(3), sums.pass.dresidual = map(4);
      if (wrong.empty()) wrong = is("sums", sums, lies({0, 1, 2, 3, 4, 6, 7, 8, 9}));
      NormGradientOnGpu<Number> gradient;
      gradient.rows = rows, gradient.affine = affine;
      gradient.pass.channels = channels;
      gradient.pass.smooth = is_smooth_tail ? NormTail::kGelu : NormTail::kNone;
      gradient.pass.x = map(0), gradient.pass.dy = map(3), gradient.pass.dx = map(5);
      gradient.pass.a = number(4), gradient.pass.b = number(5), gradient.pass.d = number(6);
      if (wrong.empty()) wrong = is("gradient", gradient, lies({0, 3, 5, 6, 7, 8, 9, 10, 11, 12}));
    }
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::vector<Agreement> norm_on_gpu() {
  std::vector<Agreement> all;
  const auto add = [&]<typename Number>(Number, const std::string& of) {
    const auto named = [&](const char* what) { return fmt::format("norm{}: {}", of, what); };
    const auto by = [&]<int kWidth>(std::integral_constant<int, kWidth>, const std::string& how) {
      const auto by_width = [&](const char* what) { return named(what) + how; };
      all.push_back({by_width("statistics, "), statistics_agree<Number, kWidth>});
      all.push_back({by_width("forward, "), forward_agrees<Number, kWidth>});
      all.push_back({by_width("backward, "), backward_agrees<Number, kWidth>});
      all.push_back({by_width("no numbers, "), bad_numbers_stay<Number, kWidth>});
      all.push_back({by_width("magnitude, "), looks_agree<Number, kWidth, Looking::kAdding>});
      all.push_back({by_width("pruning, "), looks_agree<Number, kWidth, Looking::kPruning>});
    };
    by(std::integral_constant<int, kMostMoved<Number>>(), "sixteen bytes");
    by(std::integral_constant<int, 1>(), "one by one");
    all.push_back({named("which is taken"), widths_agree<Number>});
  };
  add(float(), "");
  add(BFloat16(), " of bfloat16");
  add(Float16(), " of float16");
  return all;
}

const GpuChecks kChecks{norm_on_gpu};

}  // namespace

}  // namespace approx
