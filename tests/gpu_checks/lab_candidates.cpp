// The candidates of the kernel lab (tests/gpu_lab/), before they go to a card.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/gpu_checks/checks.h"
#include "tests/gpu_lab/moved_channels.h"
#include "tests/gpu_lab/wide_norm.h"

namespace approx {
namespace {

std::vector<BFloat16> some_numbers(Draws& draw, int64_t count) {
  std::vector<BFloat16> numbers;
  for (const float value : draw.numbers(count)) numbers.push_back(BFloat16(value));
  return numbers;
}

double value_of(BFloat16 number) { return static_cast<double>(static_cast<float>(number)); }

std::string moves_agree(uint64_t seed) {
  Draws draw(seed);
  const int64_t rows = 1 + draw.below(40), channels = 8 * (2 + draw.below(12));
  const int64_t kept = 8 * (1 + draw.below(channels / 8 - 1));
  std::vector<int64_t> all, index;
  for (int64_t c = 0; c < channels; ++c) all.push_back(c);
  for (int64_t i = 0; i < kept; ++i) {
    const auto at = static_cast<size_t>(draw.below(static_cast<int64_t>(all.size())));
    index.push_back(all[at]);
    all.erase(all.begin() + static_cast<int64_t>(at));
  }
  std::sort(index.begin(), index.end());
  const bool puts = draw.below(2) == 0;
  const auto from = some_numbers(draw, rows * (puts ? kept : channels));
  std::vector<BFloat16> wanted(static_cast<size_t>(rows * (puts ? channels : kept))), got;
  const auto definition =
      puts ? put_channels_reference<BFloat16> : take_channels_reference<BFloat16>;
  definition({channels, kept, index.data(), nullptr}, from.data(), wanted.data(), 0, rows);
  const GpuArray<int64_t> there_index(index);
  const GpuArray<BFloat16> there(from);
  std::string wrong = in_all_orders<std::vector<BFloat16>>(
      [&](Order order, std::vector<BFloat16>& results) {
        GpuArray<BFloat16> to(static_cast<int64_t>(wanted.size()));
        const MoveChannels<BFloat16> on{
            {channels, kept, there_index.data(), nullptr}, rows, there.data(), to.data(), puts};
        std::string failed =
            puts ? emulate(lab::PutWide<4>{on, 3}, order) : emulate(lab::TakeWide<4>{on, 3}, order);
        if (!to.intact()) failed = "it wrote elsewhere";
        results = to.values();
        return failed;
      },
      got);
  if (wrong.empty() && !same_bits(got, wanted)) wrong = "other bits than the definition's";
  return wrong.empty() ? wrong
                       : fmt::format("{} ({} of {} channels, {} rows{})", wrong, kept, channels,
                                     rows, puts ? ", put" : "");
}

// A norm's operands. Numbers before the cut are never so small that rounding decides it.
struct NormOperands {
  int64_t rows, channels;
  std::vector<BFloat16> x, dy, y;
  std::vector<float> scale, offset, mean, a, b, d;

  NormOperands(Draws& draw, int64_t row_count, int64_t channel_count)
      : rows(row_count), channels(channel_count) {
    x = some_numbers(draw, rows * channels);
    dy = some_numbers(draw, rows * channels);
    y = some_numbers(draw, rows * channels);
    for (auto* own : {&scale, &offset, &mean, &a, &b, &d}) *own = draw.numbers(channels);
  }

  size_t channel(size_t i) const { return i % static_cast<size_t>(channels); }
  bool is_cut(size_t i, NormTail tail) const {
    const float before = std::fma(scale[channel(i)], static_cast<float>(x[i]), offset[channel(i)]);
    return (tail == NormTail::kRelu && before <= 0) ||
           (tail == NormTail::kAddRelu && static_cast<float>(y[i]) <= 0);
  }
};

// Sums of blocks [blocks,2,channels], made one, against a truth of two sums a channel.
std::string sums_agree(const std::vector<float>& partial, const std::vector<double>& truth) {
  std::vector<float> sums(truth.size());
  for (size_t i = 0; i < partial.size(); ++i) sums[i % sums.size()] += partial[i];
  return difference(sums.data(), truth);
}

std::string norms_agree(uint64_t seed) {
  Draws draw(seed);
  const NormOperands o(draw, 1 + draw.below(400), 8 * (1 + draw.below(20)));
  const auto channels = static_cast<size_t>(o.channels);
  const int64_t most = 1 + draw.below(5);
  const auto tail = std::vector{NormTail::kNone, NormTail::kRelu,
                                NormTail::kAddRelu}[static_cast<size_t>(draw.below(3))];
  const GpuArray<BFloat16> x(o.x), dy(o.dy), y(o.y);
  const GpuArray<float> scale(o.scale), offset(o.offset), mean(o.mean), a(o.a), b(o.b), d(o.d);

  std::vector<double> moments(2 * channels), sums(2 * channels), applied, gradient, residual;
  for (size_t i = 0; i < o.x.size(); ++i) {
    const size_t c = o.channel(i);
    const double value = value_of(o.x[i]), shifted = value - value_of(o.x[c]);
    moments[c] += shifted;
    moments[channels + c] += shifted * shifted;
    const double g = o.is_cut(i, tail) ? 0 : value_of(o.dy[i]);
    sums[c] += g;
    sums[channels + c] += g * (value - double{o.mean[c]});
    residual.push_back(g);
    double out = double{o.scale[c]} * value + double{o.offset[c]};
    if (tail == NormTail::kAddRelu) out += value_of(o.y[i]);
    applied.push_back(tail == NormTail::kNone ? out : std::max(out, 0.0));
    const double of_relu = o.is_cut(i, NormTail::kRelu) ? 0 : value_of(o.dy[i]);
    gradient.push_back(double{o.a[c]} * of_relu + double{o.b[c]} * value + double{o.d[c]});
  }

  const auto in_blocks = [&](const auto& run, const std::vector<double>& truth) {
    std::vector<float> got;
    std::string wrong = in_all_orders<std::vector<float>>(
        [&](Order order, std::vector<float>& results) {
          GpuArray<float> partial(lab::wide_blocks(o.rows, o.channels, most).images * 2 *
                                  o.channels);
          std::string failed = run(order, partial.data());
          if (!partial.intact()) failed = "it wrote outside its sums";
          results = partial.values();
          return failed;
        },
        got);
    return wrong.empty() ? sums_agree(got, truth) : wrong;
  };
  std::string wrong = in_blocks(
      [&](Order order, float* partial) {
        NormStatisticsOnGpu<BFloat16> on;
        on.rows = o.rows, on.channels = o.channels, on.x = x.data();
        on.room.partial = partial;
        return emulate(lab::WideMoments<4>{on, most}, order);
      },
      moments);
  if (!wrong.empty()) return "moments: " + wrong;
  GpuArray<BFloat16> dresidual(o.rows * o.channels);
  wrong = in_blocks(
      [&](Order order, float* partial) {
        NormSumsOnGpu<BFloat16> on;
        on.rows = o.rows;
        on.pass = {.channels = o.channels,
                   .tail = tail,
                   .dy = dy.data(),
                   .x = x.data(),
                   .y = y.data(),
                   .scale = scale.data(),
                   .offset = offset.data(),
                   .mean = mean.data(),
                   .dresidual = dresidual.data()};
        on.room.partial = partial;
        return emulate(lab::WideSums<2>{on, most}, order);
      },
      sums);
  if (!wrong.empty()) return "sums: " + wrong;
  if (tail == NormTail::kAddRelu) {
    std::vector<float> found;
    for (const BFloat16 number : dresidual.values()) found.push_back(static_cast<float>(number));
    wrong = difference(found.data(), residual, 0.0);
    if (!wrong.empty() || !dresidual.intact()) return "residual: " + wrong;
  }
  wrong = product_agrees<BFloat16>(applied, [&](Order order, BFloat16* out) {
    const NormApplyOnGpu<BFloat16> on{o.rows,
                                      {.channels = o.channels,
                                       .tail = tail,
                                       .x = x.data(),
                                       .scale = scale.data(),
                                       .offset = offset.data(),
                                       .residual = y.data(),
                                       .y = out},
                                      {}};
    return emulate(lab::WideApply<2>{on, most}, order);
  });
  if (!wrong.empty()) return "forward: " + wrong;
  wrong = product_agrees<BFloat16>(gradient, [&](Order order, BFloat16* out) {
    NormGradientOnGpu<BFloat16> on;
    on.rows = o.rows;
    on.pass = {.channels = o.channels,
               .relu = true,
               .dy = dy.data(),
               .x = x.data(),
               .scale = scale.data(),
               .offset = offset.data(),
               .a = a.data(),
               .b = b.data(),
               .d = d.data(),
               .dx = out};
    return emulate(lab::WideGradient<2>{on, most}, order);
  });
  return wrong.empty() ? wrong : "gradient: " + wrong;
}

std::vector<Agreement> lab_candidates_on_gpu() {
  return {{"lab: channels moved by sixteen bytes", moves_agree},
          {"lab: norms by sixteen bytes", norms_agree}};
}

const GpuChecks kChecks{lab_candidates_on_gpu};

}  // namespace

}  // namespace approx
