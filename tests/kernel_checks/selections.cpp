// The loops that choose, move and normalise.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "kernels/norm/norm.h"
#include "kernels/sampled/channels.h"
#include "kernels/select/magnitude.h"
#include "kernels/select/peak.h"
#include "kernels/select/pruned.h"
#include "kernels/select/squares.h"
#include "tests/kernel_checks/checks.h"

namespace approx {
namespace {

// dY of a drawn size, [n,pixels,channels].
struct DrawnMaps {
  explicit DrawnMaps(Draws& draw)
      : n(1 + draw.below(3)),
        pixels(1 + draw.below(40)),
        channels(4 * (1 + draw.below(20))),
        dy(draw.numbers(n * pixels * channels, 0.9)) {}

  int64_t n, pixels, channels;
  std::vector<float> dy;
};

template <typename Number>
bool same_bits(const std::vector<Number>& a, const std::vector<Number>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(Number)) == 0;
}

std::string verdict(const Guarded& got, const std::vector<double>& truth) {
  return got.intact() ? difference(got.data(), truth) : "it wrote outside its result";
}

// What `fast` and `plain` make of the same numbers of one precision: each writes count numbers and
// returns how many are not zero.
template <typename Number, typename Fast, typename Plain>
std::string choices_agree(size_t count, const Fast& fast, const Plain& plain) {
  // One behind the last must stay as it is.
  std::vector<Number> chosen(count + 1, Number(7)), wanted(chosen);
  const int64_t kept = fast(chosen.data()), expected = plain(wanted.data());
  return kept == expected && same_bits(chosen, wanted) ? "" : "other bits than the definition's";
}

template <typename Number>
std::string stochastic_agrees(uint64_t seed) {
  Draws draw(seed);
  const DrawnMaps maps(draw);
  const auto numbers = as_numbers<Number>(maps.dy);
  StochasticArgs<Number> args{.count = static_cast<int64_t>(numbers.size()),
                              .dy = numbers.data(),
                              .tau = 0.5F,
                              .rng = Rng{.seed = seed}};
  return choices_agree<Number>(
      numbers.size(),
      [&](Number* to) {
        args.pruned = to;
        return stochastic_simd(args, 0, args.count);
      },
      [&](Number* to) {
        args.pruned = to;
        return stochastic_reference(args, 0, args.count);
      });
}

template <typename Number>
std::string structured_agrees(uint64_t seed) {
  Draws draw(seed);
  // Groups that fit into a vector, that fill some, and neither; some entries alike, some no number.
  static constexpr int64_t kGroups[] = {2, 3, 4, 8, 16, 32};
  const int64_t m = kGroups[draw.below(6)], channels = m * (1 + draw.below(4));
  const int64_t pixels = 1 + draw.below(40), count = pixels * channels;
  auto numbers = as_numbers<Number>(draw.numbers(count, 0.7));
  if (draw.below(4) == 0) numbers[static_cast<size_t>(draw.below(count))] = Number(std::nanf(""));
  NmArgs<Number> args{.pixels = pixels,
                      .channels = channels,
                      .n = 1 + draw.below(m),
                      .m = m,
                      .random = draw.below(2) == 0,
                      .rescale_group = draw.below(2) == 0,
                      .dy = numbers.data(),
                      .rng = Rng{.seed = seed}};
  return choices_agree<Number>(
      numbers.size(),
      [&](Number* to) {
        args.pruned = to;
        return nm_simd(args, 0, count);
      },
      [&](Number* to) {
        args.pruned = to;
        return nm_reference(args, 0, args.pixels);
      });
}

template <typename Number>
std::string magnitude_agrees(uint64_t seed) {
  Draws draw(seed);
  const DrawnMaps maps(draw);
  const auto numbers = as_numbers<Number>(maps.dy);
  Guarded fast(maps.n * maps.channels), plain(maps.n * maps.channels);
  MagnitudeArgs<Number> args{maps.n, maps.pixels, maps.channels, numbers.data(), fast.data()};
  plane_magnitude_simd(args, 0, maps.n);
  args.sum = plain.data();
  plane_magnitude_reference(args, 0, maps.n);
  return verdict(fast, {plain.data(), plain.data() + plain.size()});
}

// Each number times its channel's factor, rounded once.
template <typename Number>
std::string scaled_agree(uint64_t seed) {
  Draws draw(seed);
  const DrawnMaps maps(draw);
  const auto factors = draw.numbers(maps.channels);
  auto scaled = as_numbers<Number>(maps.dy);
  scaled.push_back(Number(7));
  auto wanted = scaled;
  for (size_t i = 0; i + 1 < wanted.size(); ++i) {
    wanted[i] = Number(static_cast<float>(wanted[i]) * factors[i % factors.size()]);
  }
  scale_channels_simd(
      ChannelFactors<Number>{maps.n * maps.pixels, maps.channels, factors.data(), scaled.data()});
  return same_bits(scaled, wanted) ? "" : "other bits than the definition's";
}

template <typename Number>
std::string peak_agrees(uint64_t seed) {
  Draws draw(seed);
  const DrawnMaps maps(draw);
  const auto numbers = as_numbers<Number>(maps.dy);
  Guarded fast(maps.n * maps.channels), plain(maps.n * maps.channels);
  std::vector<int32_t> found(static_cast<size_t>(fast.size())), expected(found.size());
  PeakArgs<Number> args{maps.n,         maps.pixels,  maps.channels,
                        numbers.data(), found.data(), fast.data()};
  plane_peak_simd(args, 0, maps.n);
  args.position = expected.data();
  args.sum = plain.data();
  plane_peak_reference(args, 0, maps.n);
  if (found != expected) return "another position than the definition's";
  return verdict(fast, {plain.data(), plain.data() + plain.size()});
}

template <typename Number>
std::string squares_agree_in(const DrawnMaps& maps) {
  const auto numbers = as_numbers<Number>(maps.dy);
  const Matrix<Number> m{numbers.data(), maps.n * maps.pixels, maps.channels};
  const int64_t blocks = RowBlocks(m).count;
  Guarded columns(blocks * m.columns), plain_columns(columns.size());
  column_squares_simd(m, columns.data(), 0, blocks);
  column_squares_reference(m, plain_columns.data(), 0, blocks);
  Guarded rows(m.rows), plain_rows(m.rows);
  row_squares_simd(m, rows.data(), 0, m.rows);
  row_squares_reference(m, plain_rows.data(), 0, m.rows);
  const auto wrong =
      verdict(columns, {plain_columns.data(), plain_columns.data() + plain_columns.size()});
  return wrong.empty() ? verdict(rows, {plain_rows.data(), plain_rows.data() + m.rows}) : wrong;
}

std::string squares_agree(uint64_t seed) {
  Draws draw(seed);
  const DrawnMaps maps(draw);
  const auto wrong = squares_agree_in<float>(maps);
  return wrong.empty() ? squares_agree_in<BFloat16>(maps) : wrong;
}

// Of no more numbers than there are, so that a checker of memory sees what is read behind them.
template <typename Number>
std::string channels_agree_in(const ChannelPart& which, const DrawnMaps& maps) {
  const auto rows = maps.n * maps.pixels;
  const auto numbers = as_numbers<Number>(maps.dy);
  std::vector<Number> part(static_cast<size_t>(rows * which.kept)), plain_part(part.size());
  take_channels_simd(which, numbers.data(), part.data(), 0, rows);
  take_channels_reference(which, numbers.data(), plain_part.data(), 0, rows);
  // One behind the last must stay as it is.
  std::vector<Number> whole(numbers.size() + 1, Number(7)), plain_whole(whole);
  put_channels_simd(which, part.data(), whole.data(), 0, rows);
  put_channels_reference(which, part.data(), plain_whole.data(), 0, rows);
  return same_bits(part, plain_part) && same_bits(whole, plain_whole)
             ? ""
             : "other bits than the definition's";
}

std::string channels_agree(uint64_t seed) {
  Draws draw(seed);
  const DrawnMaps maps(draw);
  std::vector<int64_t> index;
  for (int64_t c = 0; c < maps.channels; ++c) {
    if (draw.below(2) == 0 || c == maps.channels - 1) index.push_back(c);
  }
  const auto kept = static_cast<int64_t>(index.size());
  const auto factor = draw.numbers(kept);
  const ChannelPart which{maps.channels, kept, index.data(),
                          draw.below(2) == 0 ? factor.data() : nullptr};
  const auto wrong = channels_agree_in<float>(which, maps);
  return wrong.empty() ? channels_agree_in<BFloat16>(which, maps) : wrong;
}

// As the definition says, but for the rounding of what becomes less precise in memory.
template <typename Number>
std::string norm_agrees(uint64_t seed) {
  Draws draw(seed);
  const DrawnMaps maps(draw);
  const int64_t rows = maps.n * maps.pixels, channels = maps.channels, count = rows * channels;
  const auto scale = draw.numbers(channels);
  // Not so near zero that what stands before a ReLU is zero in float and not in double.
  auto shift = draw.numbers(channels);
  for (auto& value : shift) value += value < 0 ? -0.125F : 0.125F;
  const auto x = as_numbers<Number>(maps.dy), other = as_numbers<Number>(draw.numbers(count));
  const auto& registry = Registry<NormVariant>::instance();
  const auto& fast = registry.find("simd").passes<Number>();
  const auto& plain = registry.find("reference").passes<Number>();
  // The results of both: those in memory and, per channel, two sums.
  struct Results {
    explicit Results(int64_t count, int64_t channels)
        : map(static_cast<size_t>(count + 1), Number(7)), sum(channels), square(channels) {}
    std::vector<Number> map;  // and one behind the last, which must stay as it is
    Guarded sum, square;
  };
  const auto agrees = [&](const auto& pass) {
    Results found(count, channels), wanted(count, channels);
    pass(fast, found);
    pass(plain, wanted);
    for (size_t i = 0; i < found.map.size(); ++i) {
      const auto a = static_cast<float>(found.map[i]), b = static_cast<float>(wanted.map[i]);
      constexpr float kRounding = sizeof(Number) == sizeof(float) ? 1e-5F : 1.0F / 128;
      if (!(std::abs(a - b) <= 1e-5F + kRounding * std::abs(b))) {
        return fmt::format("number {} is {} and not {}", i, a, b);
      }
    }
    const auto in = [&](const Guarded& sums) {
      return std::vector<double>(sums.data(), sums.data() + channels);
    };
    const auto wrong = verdict(found.square, in(wanted.square));
    return wrong.empty() ? verdict(found.sum, in(wanted.sum)) : wrong;
  };
  std::string wrong = agrees([&](const NormPasses<Number>& by, Results& to) {
    by.moments({channels, x.data(), shift.data()}, 0, rows, to.sum.data(), to.square.data());
  });
  constexpr float kAlpha = 0.5;
  for (const auto tail : {NormTail::kNone, NormTail::kRelu, NormTail::kAddRelu, NormTail::kGelu,
                          NormTail::kCelu, NormTail::kAddGelu}) {
    const auto forward = [&](const NormPasses<Number>& by, Results& to) {
      by.apply({channels, tail, x.data(), scale.data(), shift.data(), other.data(), to.map.data(),
                kAlpha},
               0, rows);
    };
    if (wrong.empty()) wrong = agrees(forward);
    Results y(count, channels);
    forward(plain, y);
    const auto sums = [&](const NormPasses<Number>& by, Results& to) {
      by.sums({.channels = channels,
               .tail = tail,
               .dy = other.data(),
               .x = x.data(),
               .y = y.map.data(),
               .residual = other.data(),
               .scale = scale.data(),
               .offset = shift.data(),
               .mean = shift.data(),
               .dresidual = to.map.data(),
               .alpha = kAlpha},
              0, rows, to.sum.data(), to.square.data());
    };
    if (wrong.empty()) wrong = agrees(sums);
  }
  for (const auto tail : {NormTail::kNone, NormTail::kRelu, NormTail::kGelu, NormTail::kCelu}) {
    const auto gradient = [&](const NormPasses<Number>& by, Results& to) {
      by.gradient({.channels = channels,
                   .relu = tail == NormTail::kRelu,
                   .dy = other.data(),
                   .x = x.data(),
                   .scale = scale.data(),
                   .offset = shift.data(),
                   .a = scale.data(),
                   .b = shift.data(),
                   .d = scale.data(),
                   .dx = to.map.data(),
                   .smooth = is_smooth(tail) ? tail : NormTail::kNone,
                   .alpha = kAlpha},
                  0, rows);
    };
    if (wrong.empty()) wrong = agrees(gradient);
  }
  return wrong;
}

// 2 images of 64 channels of 16x16.
constexpr int64_t kHotPixels = 2 * 256, kHotChannels = 64;

void choose_hot(int64_t n, int64_t m, const std::vector<float>& dy, std::vector<float>& pruned) {
  nm_simd(NmArgs<float>{.pixels = kHotPixels,
                        .channels = kHotChannels,
                        .n = n,
                        .m = m,
                        .dy = dy.data(),
                        .pruned = pruned.data(),
                        .rng = {}},
          0, kHotPixels * kHotChannels);
}

}  // namespace

std::vector<Agreement> selection_agreements() {
  return {{"stochastic keep", stochastic_agrees<float>},
          {"stochastic keep of bfloat16", stochastic_agrees<BFloat16>},
          {"n of m", structured_agrees<float>},
          {"n of m of bfloat16", structured_agrees<BFloat16>},
          {"sums of magnitudes", magnitude_agrees<float>},
          {"sums of magnitudes of bfloat16", magnitude_agrees<BFloat16>},
          {"channels times factors", scaled_agree<float>},
          {"channels times factors of bfloat16", scaled_agree<BFloat16>},
          {"peaks of planes", peak_agrees<float>},
          {"peaks of planes of bfloat16", peak_agrees<BFloat16>},
          {"sums of squares", squares_agree},
          {"channels", channels_agree},
          {"norm", norm_agrees<float>},
          {"norm of bfloat16", norm_agrees<BFloat16>}};
}

std::vector<HotKernel> hot_selections() {
  struct Memory {
    std::vector<float> dy = Draws(1).numbers(kHotPixels * kHotChannels);
    std::vector<float> result = std::vector<float>(dy.size());
    std::vector<float> sums = std::vector<float>(static_cast<size_t>(kHotPixels * kHotChannels));
    std::vector<int32_t> position = std::vector<int32_t>(dy.size());
    std::vector<int64_t> index;
  };
  const auto with = [](auto work) {
    return [work]() -> std::function<void()> {
      const auto memory = std::make_shared<Memory>();
      for (int64_t c = 0; c < kHotChannels; c += 2) memory->index.push_back(c + c % 4 / 2);
      return [work, memory] { work(*memory); };
    };
  };
  const int64_t count = kHotPixels * kHotChannels;
  return {{"stochastic keep", with([=](Memory& m) {
             stochastic_simd(
                 StochasticArgs<float>{count, m.dy.data(), m.result.data(), 0.5F, Rng{}}, 0, count);
           })},
          {"n of m", with([=](Memory& m) { choose_hot(2, 4, m.dy, m.result); })},
          {"n of m, wide", with([=](Memory& m) { choose_hot(8, 32, m.dy, m.result); })},
          {"sums of magnitudes", with([=](Memory& m) {
             plane_magnitude_simd(
                 MagnitudeArgs<float>{2, kHotPixels / 2, kHotChannels, m.dy.data(), m.sums.data()},
                 0, 2);
           })},
          {"peaks of planes", with([=](Memory& m) {
             plane_peak_simd(PeakArgs<float>{2, kHotPixels / 2, kHotChannels, m.dy.data(),
                                             m.position.data(), m.sums.data()},
                             0, 2);
           })},
          {"sums of squares", with([=](Memory& m) {
             const Matrix<float> matrix{m.dy.data(), kHotPixels, kHotChannels};
             column_squares_simd(matrix, m.sums.data(), 0, RowBlocks(matrix).count);
           })},
          {"channels", with([=](Memory& m) {
             const ChannelPart half{kHotChannels, kHotChannels / 2, m.index.data()};
             take_channels_simd(half, m.dy.data(), m.sums.data(), 0, kHotPixels);
             put_channels_simd(half, m.sums.data(), m.result.data(), 0, kHotPixels);
           })}};
}

}  // namespace approx
