#include "kernels/select/unbiased.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <vector>

#include "kernels/draws.h"
#include "kernels/numbers_of.h"
#include "kernels/select/pruned.h"

namespace approx {
namespace {

constexpr int64_t kGroupsAtOnce = 2048;  // groups worth waking another thread for

// The groups of a matrix [pixels,channels], as a grid [first,second].
struct UnbiasedGrid {
  UnbiasedGrid(const at::Tensor& dy, const UnbiasedChoice& choice)
      : pixels(dy.numel() / dy.size(1)),
        channels(dy.size(1)),
        m(choice.m),
        along_channels(choice.axis == GroupAxis::kChannels),
        first(along_channels ? pixels : (pixels + m - 1) / m),
        second(along_channels ? (channels + m - 1) / m : channels) {}

  int64_t pixels, channels, m;
  bool along_channels;
  int64_t first, second;

  int64_t groups() const { return first * second; }
  int64_t begin(int64_t i, int64_t j) const {
    return along_channels ? i * channels + j * m : i * m * channels + j;
  }
  int64_t stride() const { return along_channels ? 1 : channels; }
  int64_t size(int64_t i, int64_t j) const {
    return std::min(m, along_channels ? channels - j * m : pixels - i * m);
  }
};

// Word i of a stream, as uniform_draws() has it.
double draw_of(const Rng& rng, int64_t i) {
  return double{Rng::uniform(rng.block(static_cast<uint32_t>(i / 4))[static_cast<size_t>(i % 4)])};
}

PrunedDY unbiased_by_loop(const at::Tensor& dy, const UnbiasedChoice& choice, const Rng& rng) {
  const auto source = dy.contiguous(at::MemoryFormat::ChannelsLast);
  PrunedDY result{.dy = at::empty_like(source), .kept = {}};
  const UnbiasedGrid grid(dy, choice);
  std::atomic<int64_t> kept = 0;
  of_two_types(dy.scalar_type(), [&]<typename Number>(Number) {
    const double most = threshold_of<Number>(std::numeric_limits<float>::infinity());
    const auto* from = numbers_of<Number>(source);
    auto* to = mutable_numbers_of<Number>(result.dy);
    at::parallel_for(0, grid.groups(), kGroupsAtOnce, [&](int64_t begin, int64_t end) {
      int64_t own = 0;
      for (int64_t g = begin; g < end; ++g) {
        const int64_t i = g / grid.second, j = g % grid.second;
        const int64_t at = grid.begin(i, j), stride = grid.stride(), size = grid.size(i, j);
        const UnbiasedGroup group(from + at, size, stride, choice.n, choice.chances);
        std::array<double, UnbiasedGroup::kMost> chosen;
        group.choose(draw_of(rng, g), most, chosen.data());
        for (int64_t k = 0; k < size; ++k) {
          const auto stays = Number(static_cast<float>(chosen[static_cast<size_t>(k)]));
          to[at + k * stride] = stays;
          own += static_cast<float>(stays) != 0 ? 1 : 0;
        }
      }
      kept += own;
    });
  });
  result.kept = at::scalar_tensor(kept.load(), at::TensorOptions().dtype(at::kLong));
  return result;
}

// The largest number of a precision.
double most_of(at::ScalarType type) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return type == at::kDouble     ? std::numeric_limits<double>::max()
         : type == at::kFloat    ? double{threshold_of<float>(kInfinity)}
         : type == at::kBFloat16 ? double{threshold_of<BFloat16>(kInfinity)}
                                 : double{threshold_of<Float16>(kInfinity)};
}

// The sum of a group's weights that are drawn, in the order of the loop.
at::Tensor total_of(const at::Tensor& weight, const at::Tensor& drawn) {
  const auto of_drawn = at::where(drawn, weight, 0.0);
  auto sum = of_drawn.select(-1, 0);
  for (int64_t i = 1; i < weight.size(-1); ++i) sum = sum + of_drawn.select(-1, i);
  return sum;
}

// UnbiasedGroup's steps in its order, for all groups at once: `value` [first,second,m] double,
// `exists` where a place of a last group has a number, `u` [first,second] double.
at::Tensor unbiased_groups(const at::Tensor& value, const at::Tensor& exists, const at::Tensor& u,
                           const UnbiasedChoice& choice, double most) {
  const bool even = choice.chances == Chances::kEqual;
  const auto is_number = value.isfinite();
  const auto weight = even ? at::ones_like(value) : value.abs();
  auto stays = is_number.logical_not();
  stays = stays.logical_and(stays.cumsum(-1) <= choice.n);
  auto left = choice.n - stays.sum(-1);
  auto drawn = is_number.logical_and(exists).logical_and(weight > 0);
  for (int64_t round = 0; round < choice.n; ++round) {
    const auto sure = drawn
                          .logical_and(weight * left.unsqueeze(-1).to(at::kDouble) >=
                                       total_of(weight, drawn).unsqueeze(-1))
                          .logical_and(left.unsqueeze(-1) > 0);
    stays = stays.logical_or(sure);
    drawn = drawn.logical_and(sure.logical_not());
    left = left - sure.sum(-1);
  }
  const auto none = at::zeros_like(u);
  const auto step = at::where(left > 0, total_of(weight, drawn) / left.to(at::kDouble), none);
  auto passed = none, next = u * step;
  auto taken = at::zeros_like(left);
  std::vector<at::Tensor> takes;
  const auto of_drawn = at::where(drawn, weight, 0.0);
  for (int64_t i = 0; i < value.size(-1); ++i) {
    passed = passed + of_drawn.select(-1, i);
    takes.push_back(drawn.select(-1, i).logical_and(taken < left).logical_and(passed > next));
    taken = taken + takes.back();
    next = at::where(takes.back(), (taken.to(at::kDouble) + u) * step, next);
  }
  const auto size = even ? value.abs() * step.unsqueeze(-1) : step.unsqueeze(-1).expand_as(value);
  const auto divided = at::copysign(size.clamp_max(most), value);
  const auto zero = at::zeros_like(value);
  return at::where(stays, value, at::where(at::stack(takes, -1), divided, zero));
}

PrunedDY unbiased_by_tensors(const at::Tensor& dy, const UnbiasedChoice& choice, const Rng& rng) {
  const UnbiasedGrid grid(dy, choice);
  const auto pixels = dy.permute({0, 2, 3, 1}).reshape({grid.pixels, grid.channels});
  // Whole groups, [first,second,m].
  const auto grouped = [&](const at::Tensor& matrix) {
    if (grid.along_channels) {
      return at::constant_pad_nd(matrix, {0, grid.second * grid.m - grid.channels})
          .view({grid.first, grid.second, grid.m});
    }
    return at::constant_pad_nd(matrix, {0, 0, 0, grid.first * grid.m - grid.pixels})
        .view({grid.first, grid.m, grid.second})
        .transpose(1, 2);
  };
  const auto exists = grouped(at::ones_like(pixels, at::kByte)) > 0;
  const auto u = uniform_draws(rng, {grid.first, grid.second}, dy.device()).to(at::kDouble);
  auto chosen = unbiased_groups(grouped(pixels.to(at::kDouble)), exists, u, choice,
                                most_of(dy.scalar_type()));
  chosen = grid.along_channels
               ? chosen.reshape({grid.pixels, grid.second * grid.m}).narrow(1, 0, grid.channels)
               : chosen.transpose(1, 2)
                     .reshape({grid.first * grid.m, grid.channels})
                     .narrow(0, 0, grid.pixels);
  return counted(chosen.reshape({dy.size(0), dy.size(2), dy.size(3), dy.size(1)})
                     .permute({0, 3, 1, 2})
                     .to(dy.scalar_type())
                     .contiguous(at::MemoryFormat::ChannelsLast));
}

}  // namespace

PrunedDY unbiased_pruned(const at::Tensor& dy, const UnbiasedChoice& choice, const Rng& rng,
                         Choosing how) {
  if (dy.numel() == 0) return counted(dy);
  return how != Choosing::kTensors && loops(dy) ? unbiased_by_loop(dy, choice, rng)
                                                : unbiased_by_tensors(dy, choice, rng);
}

}  // namespace approx
