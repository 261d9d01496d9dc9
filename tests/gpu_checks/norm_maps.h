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

// Maps of numbers that are a Number each, in float, as the definition takes them; with one of the
// smooth tails, or one of the others.
template <typename Number>
struct NormMaps {
  NormMaps(Draws& draw, int width, bool is_smooth_tail = false)
      : rows(1 + draw.below(draw.below(2) == 0 ? 9 : 300)),
        channels(width * (draw.below(3) == 0 ? 33 : 1 + draw.below(6))),
        tail(static_cast<NormTail>((is_smooth_tail ? 3 : 0) + draw.below(3))),
        x(eighths(draw, rows * channels)),
        dy(eighths(draw, rows * channels)),
        residual(eighths(draw, rows * channels)),
        scale(eighths(draw, channels)),
        offset(eighths(draw, channels)),
        weight(eighths(draw, channels)),
        mean(eighths(draw, channels)),
        inverse(eighths(draw, channels)) {
    for (auto& value : x) value += 100;  // far from zero, which cancels variances
    x = rounded<Number>(x);
    for (auto& value : mean) value += 100;
    for (size_t c = 0; c < offset.size(); ++c) offset[c] -= 100 * scale[c];
  }

  std::string described() const {
    return fmt::format("{} rows of {}, tail {}", rows, channels, static_cast<int>(tail));
  }

  int64_t rows, channels;
  NormTail tail;
  std::vector<float> x, dy, residual, scale, offset, weight, mean, inverse;
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
