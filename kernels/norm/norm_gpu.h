// The passes of a batch norm on a GPU. Each load has sixteen bytes, several rows are in flight, and
// values per channel are loaded once.
#pragma once

#include <cmath>

#include "kernels/gpu/joined_sums.h"
#include "kernels/gpu/planes.h"
#include "kernels/gpu/sums.h"
#include "kernels/norm/norm_on_gpu.h"
#include "kernels/norm/smooth_tails_gpu.h"
#include "kernels/select/pruned_gpu.h"

namespace approx {

// Here and below, kWidth channels are moved together: 1, or as many as one instruction moves
// (kMostMoved). In the second case they divide the channels, and all arrays are aligned to sixteen
// bytes. kSmooth: the tail is one of smooth_tails.h. It has kernels of its own, since it would take
// registers from the others.

constexpr int kNormRows = 4;  // rows of a thread whose loads wait together

// Scale and offset before the tail. Forward and backward pass compute them by equal operations, so
// that both agree on which values were cut off.
template <int kWidth>
struct NormScales {
  Floats<kWidth> scale, offset;

  APPROX_GPU NormScales(const NormAffineOnGpu& affine, int64_t channel)
      : scale(load_channels<kWidth>(affine.weight + channel)),
        offset(load_channels<kWidth>(affine.bias + channel)) {
    const auto mean = load_channels<kWidth>(affine.mean + channel),
               inverse = load_channels<kWidth>(affine.inverse_deviation + channel);
    for (int i = 0; i < kWidth; ++i) {
      scale.v[i] *= inverse.v[i];
      offset.v[i] = std::fma(-scale.v[i], mean.v[i], offset.v[i]);
    }
  }

  APPROX_GPU float of(float x, int i) const { return std::fma(scale.v[i], x, offset.v[i]); }
};

template <typename Number, int kWidth>
struct NormMomentsGpu {
  static constexpr int kMostThreads = 256, kMoved = kWidth;
  using Sums = TwoSums<float, kWidth>;
  NormStatisticsOnGpu<Number> on;

  constexpr PlaneBlocks blocks() const {
    return blocks_of_rows(on.rows, on.channels / kWidth, on.most_blocks);
  }
  Grid grid() const { return blocks().grid(sizeof(Sums)); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const PlaneThread at(blocks(), thread);
    const Number* x = on.x + (at.vector < blocks().vectors ? at.vector * kWidth : 0);
    const Floats<kWidth> shift = load_ahead<kWidth>(x).floats();
    sums_of_rows<kNormRows, Sums>(
        thread, blocks(), at, on.rows, on.channels, on.room.partial,
        [&](int64_t row) { return load_ahead<kWidth>(x + row * on.channels); },
        [&](int64_t /*row*/, const Ahead<Number, kWidth>& loaded, Sums& sums) {
          const Floats<kWidth> values = loaded.floats();
          for (int i = 0; i < kWidth; ++i) {
            const float value = values.v[i] - shift.v[i];
            sums.first[i] += value;
            sums.second[i] += value * value;
          }
        });
    join_sums(thread, blocks(), on.channels, on.room,
              [&](int64_t c, const JoinedSums& sums) { end(c, sums); });
  }

 private:
  APPROX_GPU void end(int64_t c, const JoinedSums& sums) const {
    const double shifted = sums.first[0] / static_cast<double>(on.rows);
    double v = sums.second[0] / static_cast<double>(on.rows) - shifted * shifted;
    if (v < 0) v = 0;  // by rounding; a NaN stays
    const auto mean = static_cast<float>(double{static_cast<float>(on.x[c])} + shifted);
    const auto variance = static_cast<float>(v);
    on.mean[c] = mean;
    on.variance[c] = variance;
    on.inverse_deviation[c] = static_cast<float>(1 / std::sqrt(v + on.epsilon));
    if (on.moved.mean == nullptr) return;
    move(on.moved.mean[c], mean, 1);
    move(on.moved.variance[c], variance, on.moved.unbiasing);
  }
  APPROX_GPU void move(float& running, float now, double factor) const {
    const double share = on.moved.momentum;
    running = static_cast<float>((1 - share) * double{running} + share * factor * double{now});
  }
};

template <typename Number, int kWidth, bool kSmooth>
struct NormApplyGpu {
  static constexpr int kMostThreads = 256, kMoved = kWidth;
  NormApplyOnGpu<Number> on;

  constexpr PlaneBlocks blocks() const {
    return blocks_of_rows(on.rows, on.pass.channels / kWidth);
  }
  Grid grid() const { return blocks().grid(0); }

  struct Row {
    Ahead<Number, kWidth> x, residual;
  };

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NormApply<Number>& a = on.pass;
    const PlaneThread at(blocks(), thread);
    if (at.vector >= blocks().vectors) return;
    const int64_t channel = at.vector * kWidth;
    const NormScales<kWidth> scales(on.affine, channel);
    const bool adds = adds_residual(a.tail), cuts = !kSmooth && a.tail != NormTail::kNone;
    for_own_rows<kNormRows>(
        thread, blocks(), at, on.rows,
        [&](int64_t row) {
          const int64_t index = row * a.channels + channel;
          Row loaded;
          loaded.x = load_ahead<kWidth>(a.x + index);
          if (adds) loaded.residual = load_ahead<kWidth>(a.residual + index);
          return loaded;
        },
        [&](int64_t row, const Row& loaded) {
          Floats<kWidth> y = loaded.x.floats();
          for (int i = 0; i < kWidth; ++i) y.v[i] = scales.of(y.v[i], i);
          if (adds) {
            const Floats<kWidth> residual = loaded.residual.floats();
            for (int i = 0; i < kWidth; ++i) y.v[i] += residual.v[i];
          }
          for (int i = 0; i < kWidth; ++i) {
            if constexpr (kSmooth) y.v[i] = smooth_tail_on_gpu(a.tail, a.alpha, y.v[i]);
            if (cuts && y.v[i] < 0) y.v[i] = 0;  // (A NaN stays.)
          }
          store_packed<kWidth>(a.y + row * a.channels + channel, y);
        });
  }
};

template <typename Number, int kWidth, bool kSmooth>
struct NormSumsGpu {
  static constexpr int kMostThreads = 256, kMoved = kWidth;
  // (With more than 128 registers, one block would be alone.)
  static constexpr int kLeastBlocks = 2;
  using Sums = TwoSums<float, kWidth>;
  NormSumsOnGpu<Number> on;

  constexpr PlaneBlocks blocks() const {
    return blocks_of_rows(on.rows, on.pass.channels / kWidth, on.most_blocks);
  }
  Grid grid() const { return blocks().grid(sizeof(Sums)); }

  struct Row {
    Ahead<Number, kWidth> dy, x;
    Ahead<Number, kWidth> kept;  // y or the residual, for a tail that adds one
  };

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NormSums<Number>& a = on.pass;
    const PlaneThread at(blocks(), thread);
    const int64_t channel = at.vector < blocks().vectors ? at.vector * kWidth : 0;
    const NormScales<kWidth> scales(on.affine, channel);
    const auto mean = load_channels<kWidth>(on.affine.mean + channel);
    const bool adds = adds_residual(a.tail), cuts = a.tail == NormTail::kRelu;
    const Number* kept = kSmooth ? a.residual : a.y;
    sums_of_rows<kNormRows, Sums>(
        thread, blocks(), at, on.rows, a.channels, on.room.partial,
        [&](int64_t row) {
          const int64_t index = row * a.channels + channel;
          Row loaded;
          loaded.dy = load_ahead<kWidth>(a.dy + index);
          loaded.x = load_ahead<kWidth>(a.x + index);
          if (adds) loaded.kept = load_ahead<kWidth>(kept + index);
          return loaded;
        },
        [&](int64_t row, const Row& loaded, Sums& sums) {
          Floats<kWidth> g = loaded.dy.floats();
          const Floats<kWidth> x = loaded.x.floats();
          if constexpr (kSmooth) {
            Floats<kWidth> z;
            for (int i = 0; i < kWidth; ++i) z.v[i] = scales.of(x.v[i], i);
            if (adds) {
              const Floats<kWidth> residual = loaded.kept.floats();
              for (int i = 0; i < kWidth; ++i) z.v[i] += residual.v[i];
            }
            for (int i = 0; i < kWidth; ++i) g.v[i] *= smooth_slope_on_gpu(a.tail, a.alpha, z.v[i]);
          } else if (cuts) {
            for (int i = 0; i < kWidth; ++i) {
              if (scales.of(x.v[i], i) <= 0) g.v[i] = 0;
            }
          } else if (adds) {
            const Floats<kWidth> y = loaded.kept.floats();
            for (int i = 0; i < kWidth; ++i) {
              if (y.v[i] <= 0) g.v[i] = 0;
            }
          }
          if (adds) store_packed<kWidth>(a.dresidual + row * a.channels + channel, g);
          for (int i = 0; i < kWidth; ++i) {
            sums.first[i] += g.v[i];
            sums.second[i] += g.v[i] * (x.v[i] - mean.v[i]);
          }
        });
    join_sums(thread, blocks(), a.channels, on.room,
              [&](int64_t c, const JoinedSums& sums) { end(c, sums); });
  }

 private:
  // dx = w inv (g - sum / M - (x - mean) inv^2 product / M), written as factors of g, x and 1
  // (Ioffe & Szegedy 2015, section 3).
  APPROX_GPU void end(int64_t c, const JoinedSums& sums) const {
    const double sum = sums.first[0], product = sums.second[0];
    const double inverse = on.affine.inverse_deviation[c], count = static_cast<double>(on.rows);
    const double of_g = double{on.affine.weight[c]} * inverse;
    const double of_x = -of_g * inverse * inverse * product / count;
    on.dweight[c] = static_cast<float>(product * inverse);
    on.dbias[c] = static_cast<float>(sum);
    on.a[c] = static_cast<float>(of_g);
    on.b[c] = static_cast<float>(of_x);
    on.d[c] = static_cast<float>(-of_g * sum / count - of_x * on.affine.mean[c]);
    if (on.sums == nullptr) return;
    on.sums[c] = sum;
    on.sums[on.pass.channels + c] = product;
  }
};

// Work on dx besides writing it: none, adding up its magnitudes, or also pruning it.
enum class Looking { kNot, kAdding, kPruning };

template <typename Number, int kWidth, bool kSmooth, Looking kLooking>
struct NormGradientGpu {
  static constexpr int kMostThreads = 256, kMoved = kWidth;
  // (With more than 128 registers, one block would be alone.)
  static constexpr int kLeastBlocks = 2;
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

 private:
  struct Row {
    Ahead<Number, kWidth> dy, x;
  };
  struct Seen {
    double magnitude = 0;
    int64_t kept = 0;
  };

  template <typename Thread>
  APPROX_GPU void write(const Thread& thread, const PlaneThread& at, Seen& seen) const {
    const NormGradient<Number>& p = on.pass;
    const int64_t channel = at.vector * kWidth;
    const auto a = load_channels<kWidth>(p.a + channel), b = load_channels<kWidth>(p.b + channel),
               d = load_channels<kWidth>(p.d + channel);
    const NormScales<kWidth> scales(on.affine, channel);
    float tau = 0;
    Rng rng = on.look.rng;
    if constexpr (kLooking == Looking::kPruning) {
      tau = threshold_of<Number>(*on.look.tau);
      // (Its step is read once, for all rows.)
      rng.step = rng.current_step();
      rng.step_at = nullptr;
    }
    for_own_rows<kNormRows>(
        thread, blocks(), at, on.rows,
        [&](int64_t row) {
          const int64_t index = row * p.channels + channel;
          return Row{load_ahead<kWidth>(p.dy + index), load_ahead<kWidth>(p.x + index)};
        },
        [&](int64_t row, const Row& loaded) {
          const int64_t index = row * p.channels + channel;
          const Floats<kWidth> dy = loaded.dy.floats(), x = loaded.x.floats();
          Floats<kWidth> dx;
          for (int i = 0; i < kWidth; ++i) {
            float g = dy.v[i];
            if constexpr (kSmooth) {
              g *= smooth_slope_on_gpu(p.smooth, p.alpha, scales.of(x.v[i], i));
            } else if (p.relu && scales.of(x.v[i], i) <= 0) {
              g = 0;
            }
            dx.v[i] = std::fma(a.v[i], g, std::fma(b.v[i], x.v[i], d.v[i]));
          }
          if constexpr (kLooking != Looking::kNot) look(index, tau, rng, dx, seen);
          store_packed<kWidth>(p.dx + index, dx);
        });
  }

  // Processes dx from `index` on before it is written: with the draws of those elements, and with
  // the bits of a separate pruning pass.
  APPROX_GPU void look(int64_t index, float tau, const Rng& rng, Floats<kWidth>& dx,
                       Seen& seen) const {
    for (int i = 0; i < kWidth; ++i) dx.v[i] = static_cast<float>(Number(dx.v[i]));
    seen.magnitude += magnitude_of(dx);
    if constexpr (kLooking == Looking::kPruning) {
      constexpr int kDrawn = kWidth < 4 ? kWidth : 4;  // by one block of the stream
      for (int first = 0; first < kWidth; first += kDrawn) {
        const auto words = rng.block(static_cast<uint32_t>((index + first) / 4));
        for (int i = 0; i < kDrawn; ++i) {
          const auto word = static_cast<size_t>(kDrawn == 4 ? i : index % 4);
          float& one = dx.v[first + i];
          one = stochastically_pruned(one, tau, words[word]);
          seen.kept += one != 0 ? 1 : 0;
        }
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

template <typename T>
bool lies_by_sixteen(const T* from) {
  return lies_by(16 / sizeof(T), from);
}
inline bool lies_by_sixteen(const NormAffineOnGpu& affine) {
  return lies_by_sixteen(affine.weight) && lies_by_sixteen(affine.bias) &&
         lies_by_sixteen(affine.mean) && lies_by_sixteen(affine.inverse_deviation);
}

// Whether sixteen bytes are moved at a time. (An absent array needs no moves.)
template <typename Number, typename... Arrays>
bool is_wide(int64_t channels, const Arrays&... arrays) {
  return channels % kMostMoved<Number> == 0 && (lies_by_sixteen(arrays) && ...);
}

// Call run(kernel) with the kernels for the arguments, one after the other.
template <typename Number, typename Run>
void with_norm_kernel(const NormStatisticsOnGpu<Number>& on, Run run) {
  if (is_wide<Number>(on.channels, on.x)) {
    return run(NormMomentsGpu<Number, kMostMoved<Number>>{on});
  }
  run(NormMomentsGpu<Number, 1>{on});
}

template <bool kSmooth, typename Number, typename Run>
void with_norm_kernel_of(const NormApplyOnGpu<Number>& on, Run run) {
  const auto& a = on.pass;
  if (is_wide<Number>(a.channels, a.x, a.residual, a.y, on.affine)) {
    return run(NormApplyGpu<Number, kMostMoved<Number>, kSmooth>{on});
  }
  run(NormApplyGpu<Number, 1, kSmooth>{on});
}
template <typename Number, typename Run>
void with_norm_kernel(const NormApplyOnGpu<Number>& on, Run run) {
  if (is_smooth(on.pass.tail)) return with_norm_kernel_of<true>(on, run);
  with_norm_kernel_of<false>(on, run);
}

template <bool kSmooth, typename Number, typename Run>
void with_norm_kernel_of(const NormSumsOnGpu<Number>& on, Run run) {
  const auto& a = on.pass;
  if (is_wide<Number>(a.channels, a.dy, a.x, a.y, a.residual, a.dresidual, on.affine)) {
    return run(NormSumsGpu<Number, kMostMoved<Number>, kSmooth>{on});
  }
  run(NormSumsGpu<Number, 1, kSmooth>{on});
}
template <typename Number, typename Run>
void with_norm_kernel(const NormSumsOnGpu<Number>& on, Run run) {
  if (is_smooth(on.pass.tail)) return with_norm_kernel_of<true>(on, run);
  with_norm_kernel_of<false>(on, run);
}

template <int kWidth, bool kSmooth, typename Number, typename Run>
void with_norm_kernels_of(const NormGradientOnGpu<Number>& on, Run run) {
  const auto looking = [&](const auto& kernel) {
    const Grid grid = kernel.grid();
    run(kernel);
    run(MeanOfPartials{on.rows * on.pass.channels, grid.x * grid.y, on.partial, on.look.mean});
  };
  if (on.partial == nullptr) {
    return run(NormGradientGpu<Number, kWidth, kSmooth, Looking::kNot>{on});
  }
  if (on.look.tau != nullptr) {
    return looking(NormGradientGpu<Number, kWidth, kSmooth, Looking::kPruning>{on});
  }
  looking(NormGradientGpu<Number, kWidth, kSmooth, Looking::kAdding>{on});
}
template <bool kSmooth, typename Number, typename Run>
void with_norm_kernels_of(const NormGradientOnGpu<Number>& on, Run run) {
  const auto& p = on.pass;
  if (is_wide<Number>(p.channels, p.dy, p.x, p.a, p.b, p.d, p.dx, on.affine)) {
    return with_norm_kernels_of<kMostMoved<Number>, kSmooth>(on, run);
  }
  with_norm_kernels_of<1, kSmooth>(on, run);
}
template <typename Number, typename Run>
void with_norm_kernel(const NormGradientOnGpu<Number>& on, Run run) {
  if (is_smooth(on.pass.smooth)) return with_norm_kernels_of<true>(on, run);
  with_norm_kernels_of<false>(on, run);
}

}  // namespace approx
