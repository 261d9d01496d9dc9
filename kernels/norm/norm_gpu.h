// The passes of a batch norm on a GPU.
#pragma once

#include <cmath>

#include "kernels/gpu/planes.h"
#include "kernels/gpu/sums.h"
#include "kernels/norm/norm_on_gpu.h"
#include "kernels/select/pruned_gpu.h"

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
    return blocks_of_sums(row_blocks(on.rows), on.channels).grid(sizeof(TwoSums<double, 1>));
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    using Sums = TwoSums<double, 1>;
    sums_of_blocks<Sums>(
        thread, row_blocks(on.rows), on.channels, on.partial, [&](int64_t c, const Sums& sums) {
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
    return blocks_of_sums(row_blocks(on.rows), on.pass.channels).grid(sizeof(TwoSums<double, 1>));
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    using Sums = TwoSums<double, 1>;
    sums_of_blocks<Sums>(
        thread, row_blocks(on.rows), on.pass.channels, on.partial,
        [&](int64_t c, const Sums& sums) {
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

// What is done to dx beside writing it: nothing, its magnitudes are added up, or it is pruned too.
enum class Looking { kNot, kAdding, kPruning };

template <typename Number, int kWidth, Looking kLooking>
struct NormGradientGpu {
  static constexpr int kMostThreads = 256;
  NormGradientOnGpu<Number> on;

  constexpr PlaneBlocks blocks() const {
    return blocks_of_rows(on.rows, on.pass.channels / kWidth);
  }
  Grid grid() const {
    Grid grid = blocks().grid(0);
    const auto warps = static_cast<size_t>(grid.threads / kWarp);
    if (kLooking != Looking::kNot) grid.shared = warps * (sizeof(double) + sizeof(int64_t));
    return grid;
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const PlaneThread at(blocks(), thread);
    Seen seen;
    if (at.vector < blocks().vectors) write(thread, at, seen);
    if constexpr (kLooking != Looking::kNot) leave(thread, seen);
  }

 protected:
  struct Seen {
    double magnitude = 0;
    int64_t kept = 0;
  };

  template <typename Thread>
  APPROX_GPU void write(const Thread& thread, const PlaneThread& at, Seen& seen) const {
    const NormGradient<Number>& p = on.pass;
    const int64_t channel = at.vector * kWidth;
    const auto a = load_constant<kWidth>(p.a + channel), b = load_constant<kWidth>(p.b + channel),
               d = load_constant<kWidth>(p.d + channel);
    Floats<kWidth> scale{}, offset{};
    if (p.relu) {
      scale = load_constant<kWidth>(p.scale + channel);
      offset = load_constant<kWidth>(p.offset + channel);
    }
    float tau = 0;
    if constexpr (kLooking == Looking::kPruning) tau = threshold_of<Number>(*on.look.tau);
    for_own_rows(thread, blocks(), at, on.rows, [&](int64_t row) {
      const int64_t index = row * p.channels + channel;
      const auto dy = load_constant<kWidth>(p.dy + index), x = load_constant<kWidth>(p.x + index);
      Floats<kWidth> dx;
      for (int i = 0; i < kWidth; ++i) {
        const bool cut = p.relu && norm_affine(x.v[i], scale.v[i], offset.v[i]) <= 0;
        dx.v[i] = std::fma(a.v[i], cut ? 0.0f : dy.v[i], std::fma(b.v[i], x.v[i], d.v[i]));
      }
      if constexpr (kLooking != Looking::kNot) look(index, tau, dx, seen);
      store<kWidth>(p.dx + index, dx);
    });
  }

  // At what would have been written, from `index` on: the draws of those elements, and the bits of
  // pruning in a pass of its own.
  APPROX_GPU void look(int64_t index, float tau, Floats<kWidth>& dx, Seen& seen) const {
    for (int i = 0; i < kWidth; ++i) dx.v[i] = static_cast<float>(Number(dx.v[i]));
    seen.magnitude += magnitude_of(dx);
    if constexpr (kLooking == Looking::kPruning) {
      const auto words = on.look.rng.block(static_cast<uint32_t>(index / 4));
      for (int i = 0; i < kWidth; ++i) {
        const auto word = static_cast<size_t>(kWidth == 4 ? i : index % 4);
        dx.v[i] = stochastically_pruned(dx.v[i], tau, words[word]);
        seen.kept += dx.v[i] != 0 ? 1 : 0;
      }
    }
  }

  template <typename Thread>
  APPROX_GPU void leave(Thread& thread, const Seen& seen) const {
    auto* sums = thread.template shared<double>();
    const double magnitude = sum_of_block(thread, seen.magnitude, sums);
    if (thread.index() == 0) {
      on.partial[thread.block_y() * thread.blocks() + thread.block_x()] = magnitude;
    }
    if constexpr (kLooking == Looking::kPruning) {
      auto* counts = thread.template shared<int64_t>(static_cast<size_t>(thread.threads() / kWarp) *
                                                     sizeof(double));
      const int64_t kept = sum_of_block(thread, seen.kept, counts);
      if (thread.index() == 0) thread.add(on.look.kept, kept);
    }
  }
};

}  // namespace approx
