// What the checks of batch norms on a GPU have in common.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "kernels/float16.h"
#include "kernels/norm/norm_gpu.h"
#include "tests/gpu_checks/checks.h"

namespace approx {

// Numbers of few bits: the sign of what stands before a ReLU is the same in any precision.
inline std::vector<float> eighths(Draws& draw, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (auto& value : values) value = static_cast<float>(draw.below(33) - 16) / 8;
  return values;
}

// What a pass makes of its rows: numbers for each, or sums.
enum class Makes { kRows, kSums };

// One row, a few, some hundred; of sums also so many that their blocks are more than one of them
// joins.
inline int64_t norm_rows(Draws& draw, Makes makes) {
  const int64_t kind = draw.below(8);
  if (kind == 0) return 1;
  if (kind == 1 && makes == Makes::kSums) return 64 * kJoinedBlocks + 1 + draw.below(300);
  return 1 + draw.below(kind < 5 ? 9 : 300);
}

// Maps of numbers that are a Number each, in float, as the definition takes them; with one of the
// smooth tails, or one of the others.
template <typename Number>
struct NormMaps {
  NormMaps(Draws& draw, int width, Makes makes = Makes::kRows, bool is_smooth_tail = false)
      : rows(norm_rows(draw, makes)),
        channels(width * (rows > 1000          ? 1 + draw.below(2)
                          : draw.below(3) == 0 ? 33
                                               : 1 + draw.below(6))),
        most_blocks(draw.below(2) == 0 ? kMostRowBlocks : 1 + draw.below(40)),
        tail(static_cast<NormTail>((is_smooth_tail ? 3 : 0) + draw.below(3))),
        x(eighths(draw, rows * channels)),
        dy(eighths(draw, rows * channels)),
        residual(eighths(draw, rows * channels)),
        weight(eighths(draw, channels)),
        bias(eighths(draw, channels)),
        mean(eighths(draw, channels)),
        inverse(eighths(draw, channels)),
        scale(weight),
        offset(bias) {
    for (auto& value : x) value += 100;  // far from zero, which cancels variances
    x = rounded<Number>(x);
    for (auto& value : mean) value += 100;
    for (size_t c = 0; c < offset.size(); ++c) {  // (Both are exact in float.)
      scale[c] *= inverse[c];
      offset[c] -= scale[c] * mean[c];
    }
  }

  std::string described() const {
    return fmt::format("{} rows of {}, at most {} blocks, tail {}", rows, channels, most_blocks,
                       static_cast<int>(tail));
  }

  int64_t rows, channels, most_blocks;
  NormTail tail;
  std::vector<float> x, dy, residual, weight, bias, mean, inverse;
  std::vector<float> scale, offset;  // of the definition
};

// What a map is normalised by, in a GPU's memory.
struct AffineThere {
  template <typename Number>
  explicit AffineThere(const NormMaps<Number>& maps)
      : weight(maps.weight), bias(maps.bias), mean(maps.mean), inverse(maps.inverse) {}

  NormAffineOnGpu on() const { return {weight.data(), bias.data(), mean.data(), inverse.data()}; }

  GpuArray<float> weight, bias, mean, inverse;
};

// Where blocks join their sums.
class RoomThere {
 public:
  RoomThere(int64_t rows, int64_t channels)
      : partial_(row_blocks(rows) * 2 * channels),
        groups_(joined_groups(row_blocks(rows)) * 2 * channels),
        arrivals_(std::vector<uint32_t>(
            static_cast<size_t>(arrivals_of(row_blocks(rows), blocks_of(channels, kWarp))))) {}

  JoinedRoom room() { return {partial_.data(), groups_.data(), arrivals_.data()}; }

  // What a launch left that it should not have.
  std::string wrong() const {
    if (!partial_.intact() || !groups_.intact() || !arrivals_.intact()) return "it wrote elsewhere";
    for (const uint32_t count : arrivals_.values()) {
      if (count != 0) return "the next launch would count on";
    }
    return {};
  }

 private:
  GpuArray<float> partial_;
  GpuArray<double> groups_;
  GpuArray<uint32_t> arrivals_;
};

static_assert(is_smooth(static_cast<NormTail>(3)) && is_smooth(static_cast<NormTail>(4)) &&
              is_smooth(static_cast<NormTail>(5)));

inline const NormPasses<float>& norm_definition() {
  return Registry<NormVariant>::instance().find("reference").of_float;
}

// What is wrong with `got`, of which `wanted` and what a sum of so large numbers may be off.
inline std::string off(const char* what, std::span<const float> got, std::span<const double> wanted,
                       double tolerance) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!(std::abs(got[i] - wanted[i]) <= tolerance * (1 + std::abs(wanted[i])))) {
      return fmt::format("{} {} is {} and not {}", what, i, got[i], wanted[i]);
    }
  }
  return {};
}

inline std::vector<double> in_double(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// What a look at dx must find: dx as it is without one, its mean magnitude, and what is left of it.
template <typename Number>
struct Looked {
  std::vector<Number> dx;
  double mean = 0;
  int64_t kept = 0;
};

template <typename Number>
Looked<Number> looked_at(std::vector<Number> dx, const Rng& rng, const float* tau) {
  Looked<Number> looked;
  for (const Number value : dx) looked.mean += std::abs(static_cast<float>(value));
  looked.mean /= static_cast<double>(dx.size());
  looked.dx = dx;
  if (tau == nullptr) return looked;
  const StochasticArgs<Number> args{.count = static_cast<int64_t>(dx.size()),
                                    .dy = dx.data(),
                                    .pruned = looked.dx.data(),
                                    .tau = *tau,
                                    .rng = rng};
  looked.kept = stochastic_reference(args, 0, args.count);
  return looked;
}

}  // namespace approx
