// The passes of a batch norm on a GPU.
#pragma once

#include <cmath>

#include "kernels/gpu/planes.h"
#include "kernels/norm/norm_on_gpu.h"

namespace approx {

// kWidth divides the channels, here and below.
template <typename Number, int kWidth>
struct NormMomentsGpu {
  static constexpr int kMostThreads = 256;
  NormStatisticsOnGpu<Number> on;

  Grid grid() const {
    return blocks_of_rows(on.rows, on.channels / kWidth).grid(sizeof(TwoSums<float, kWidth>));
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    sums_of_rows<TwoSums<float, kWidth>>(
        thread, on.rows, on.channels, on.partial,
        [&](int64_t index, int64_t channel, TwoSums<float, kWidth>& sums) {
          const auto x = load_constant<kWidth>(on.x + index);
          const auto shift = load_constant<kWidth>(on.x + channel);
          for (int i = 0; i < kWidth; ++i) {
            const float value = x.v[i] - shift.v[i];
            sums.first[i] += value;
            sums.second[i] += value * value;
          }
        });
  }
};

template <typename Number>
struct NormMomentsEnd {
  static constexpr int kMostThreads = 1024;
  NormStatisticsOnGpu<Number> on;

  Grid grid() const {
    return blocks_of_sums(on.rows, on.channels).grid(sizeof(TwoSums<double, 1>));
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    using Sums = TwoSums<double, 1>;
    sums_of_blocks<Sums>(
        thread, on.rows, on.channels, on.partial, [&](int64_t c, const Sums& sums) {
          const double shifted = sums.first[0] / static_cast<double>(on.rows);
          double v = sums.second[0] / static_cast<double>(on.rows) - shifted * shifted;
          if (v < 0) v = 0;  // by rounding; a NaN stays
          on.mean[c] = static_cast<float>(double{static_cast<float>(on.x[c])} + shifted);
          on.variance[c] = static_cast<float>(v);
          on.inverse_deviation[c] = static_cast<float>(1 / std::sqrt(v + on.epsilon));
        });
  }
};

// What stands before the tail: the same operation forward and backward, so that both agree on what
// was cut off.
APPROX_GPU float norm_affine(float x, float scale, float offset) {
  return std::fma(scale, x, offset);
}

template <typename Number, int kWidth>
struct NormApplyGpu {
  static constexpr int kMostThreads = 256;
  NormApplyOnGpu<Number> on;

  constexpr PlaneBlocks blocks() const {
    return blocks_of_rows(on.rows, on.pass.channels / kWidth);
  }
  Grid grid() const { return blocks().grid(0); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NormApply<Number>& a = on.pass;
    const PlaneThread at(blocks(), thread);
    if (at.vector >= blocks().vectors) return;
    const auto scale = load_constant<kWidth>(a.scale + at.vector * kWidth);
    const auto offset = load_constant<kWidth>(a.offset + at.vector * kWidth);
    for_own_rows(thread, blocks(), at, on.rows, [&](int64_t row) {
      const int64_t index = row * a.channels + at.vector * kWidth;
      Floats<kWidth> y = load_constant<kWidth>(a.x + index);
      for (int i = 0; i < kWidth; ++i) y.v[i] = norm_affine(y.v[i], scale.v[i], offset.v[i]);
      if (a.tail == NormTail::kAddRelu) {
        const auto residual = load_constant<kWidth>(a.residual + index);
        for (int i = 0; i < kWidth; ++i) y.v[i] += residual.v[i];
      }
      // (A NaN stays.)
      for (int i = 0; i < kWidth; ++i) {
        if (a.tail != NormTail::kNone && y.v[i] < 0) y.v[i] = 0;
      }
      store<kWidth>(a.y + index, y);
    });
  }
};

template <typename Number, int kWidth>
struct NormSumsGpu {
  static constexpr int kMostThreads = 256;
  NormSumsOnGpu<Number> on;

  Grid grid() const {
    return blocks_of_rows(on.rows, on.pass.channels / kWidth).grid(sizeof(TwoSums<float, kWidth>));
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NormSums<Number>& a = on.pass;
    sums_of_rows<TwoSums<float, kWidth>>(
        thread, on.rows, a.channels, on.partial,
        [&](int64_t index, int64_t channel, TwoSums<float, kWidth>& sums) {
          Floats<kWidth> g = load_constant<kWidth>(a.dy + index);
          const auto x = load_constant<kWidth>(a.x + index);
          if (a.tail == NormTail::kRelu) {
            const auto scale = load_constant<kWidth>(a.scale + channel);
            const auto offset = load_constant<kWidth>(a.offset + channel);
            for (int i = 0; i < kWidth; ++i) {
              if (norm_affine(x.v[i], scale.v[i], offset.v[i]) <= 0) g.v[i] = 0;
            }
          }
          if (a.tail == NormTail::kAddRelu) {
            const auto y = load_constant<kWidth>(a.y + index);
            for (int i = 0; i < kWidth; ++i) {
              if (y.v[i] <= 0) g.v[i] = 0;
            }
            store<kWidth>(a.dresidual + index, g);
          }
          const auto mean = load_constant<kWidth>(a.mean + channel);
          for (int i = 0; i < kWidth; ++i) {
            sums.first[i] += g.v[i];
            sums.second[i] += g.v[i] * (x.v[i] - mean.v[i]);
          }
        });
  }
};

// dx = w inv (g - sum / M - (x - mean) inv^2 product / M), gathered by what it multiplies (Ioffe &
// Szegedy 2015, section 3).
template <typename Number>
struct NormSumsEnd {
  static constexpr int kMostThreads = 1024;
  NormSumsOnGpu<Number> on;

  Grid grid() const {
    return blocks_of_sums(on.rows, on.pass.channels).grid(sizeof(TwoSums<double, 1>));
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    using Sums = TwoSums<double, 1>;
    sums_of_blocks<Sums>(
        thread, on.rows, on.pass.channels, on.partial, [&](int64_t c, const Sums& sums) {
          const double sum = sums.first[0], product = sums.second[0];
          const double inverse = on.inverse_deviation[c], count = static_cast<double>(on.rows);
          const double of_g = double{on.weight[c]} * inverse;
          const double of_x = -of_g * inverse * inverse * product / count;
          on.dweight[c] = static_cast<float>(product * inverse);
          on.dbias[c] = static_cast<float>(sum);
          on.a[c] = static_cast<float>(of_g);
          on.b[c] = static_cast<float>(of_x);
          on.d[c] = static_cast<float>(-of_g * sum / count - of_x * on.pass.mean[c]);
        });
  }
};

template <typename Number, int kWidth>
struct NormGradientGpu {
  static constexpr int kMostThreads = 256;
  NormGradientOnGpu<Number> on;

  constexpr PlaneBlocks blocks() const {
    return blocks_of_rows(on.rows, on.pass.channels / kWidth);
  }
  Grid grid() const { return blocks().grid(0); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NormGradient<Number>& p = on.pass;
    const PlaneThread at(blocks(), thread);
    if (at.vector >= blocks().vectors) return;
    const int64_t channel = at.vector * kWidth;
    const auto a = load_constant<kWidth>(p.a + channel), b = load_constant<kWidth>(p.b + channel),
               d = load_constant<kWidth>(p.d + channel);
    Floats<kWidth> scale{}, offset{};
    if (p.relu) {
      scale = load_constant<kWidth>(p.scale + channel);
      offset = load_constant<kWidth>(p.offset + channel);
    }
    for_own_rows(thread, blocks(), at, on.rows, [&](int64_t row) {
      const int64_t index = row * p.channels + channel;
      const auto dy = load_constant<kWidth>(p.dy + index), x = load_constant<kWidth>(p.x + index);
      Floats<kWidth> dx;
      for (int i = 0; i < kWidth; ++i) {
        const bool cut = p.relu && norm_affine(x.v[i], scale.v[i], offset.v[i]) <= 0;
        dx.v[i] = std::fma(a.v[i], cut ? 0.0f : dy.v[i], std::fma(b.v[i], x.v[i], d.v[i]));
      }
      store<kWidth>(p.dx + index, dx);
    });
  }
};

}  // namespace approx
