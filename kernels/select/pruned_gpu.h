// Stochastic pruning on a GPU, and the mean that determines its threshold.
#pragma once

#include <cfloat>
#include <cmath>

#include "kernels/gpu/lists.h"
#include "kernels/gpu/sums.h"
#include "kernels/select/magnitude.h"
#include "kernels/select/pruned.h"

namespace approx {

// The pruned value of an entry, from its word of the stream. (Without branches, in which lanes
// would diverge.)
APPROX_GPU float stochastically_pruned(float g, float tau, uint32_t word) {
  const float size = std::fabs(g);
  const float small = size > Rng::uniform(word) * tau ? std::copysign(tau, g) : 0.0f;
  return size < tau ? small : g;
}

// Four neighbouring elements share one block of the stream. Draws and bits are those of the loops
// of kernels/select/pruned.h. `kWide`: both arrays are aligned so that one instruction moves
// sixteen bytes.
template <typename Number, bool kWide>
struct StochasticPrune {
  static constexpr int kMostThreads = 256;
  static constexpr int kWidth = kMostMoved<Number>, kMoved = kWide ? kWidth : 1;
  StochasticOnGpu<Number> on;
  int64_t most_blocks = 1;  // each adds its number of kept entries to one number

  Grid grid() const {
    return grid_of_list(blocks_of(on.args.count, kWidth), most_blocks, kMostThreads,
                        kMostThreads / kWarp * sizeof(int32_t));
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const StochasticArgs<Number>& a = on.args;
    const float tau = threshold_of<Number>(*on.tau);
    // (The step is read once: the output might overlap its memory.)
    Rng rng = a.rng;
    rng.step = a.rng.current_step();
    rng.step_at = nullptr;
    int32_t kept = 0;
    for_own_vectors<kWidth, kMoved, /*kTurns=*/2>(
        thread, a.dy, a.count, [&](int64_t at, const Floats<kWidth>& values) {
          Floats<kWidth> left;
          for (int four = 0; four < kWidth; four += 4) {
            const auto words = rng.block(static_cast<uint32_t>((at + four) / 4));
            for (int i = 0; i < 4; ++i) {
              left.v[four + i] =
                  stochastically_pruned(values.v[four + i], tau, words[static_cast<size_t>(i)]);
              kept += left.v[four + i] != 0 ? 1 : 0;
            }
          }
          store_by<kWidth, kMoved>(a.pruned + at, left);
        });
    // The rest, less than a vector: one element for each of the first threads.
    const int64_t last = a.count / kWidth * kWidth + index_in_grid(thread);
    if (last < a.count) {
      const auto words = rng.block(static_cast<uint32_t>(last / 4));
      const float left = stochastically_pruned(static_cast<float>(a.dy[last]), tau,
                                               words[static_cast<size_t>(last % 4)]);
      kept += left != 0 ? 1 : 0;
      a.pruned[last] = Number(left);
    }
    add_counts(thread, kept, on.kept);
  }
};

// The sum of the magnitudes of a vector: in float, since they are few, unless it exceeds the range
// of float.
template <int kWidth>
APPROX_GPU double magnitude_of(const Floats<kWidth>& values) {
  float sum = 0;
  for (int i = 0; i < kWidth; ++i) sum += std::fabs(values.v[i]);
  if (sum <= FLT_MAX) return sum;
  double all = 0;
  for (int i = 0; i < kWidth; ++i) all += double{std::fabs(values.v[i])};
  return all;
}

// Makes one sum per block, for at most `most_blocks` blocks; then one block makes their mean. The
// order depends only on the count, and not on `kWide` (as above).
template <typename Number, bool kWide>
struct PartialMagnitudes {
  static constexpr int kMostThreads = 256;
  static constexpr int kWidth = kMostMoved<Number>;
  MeanMagnitudeArgs<Number> args;
  int64_t most_blocks = 1;

  Grid grid() const {
    return grid_of_list(blocks_of(args.count, kWidth), most_blocks, kMostThreads,
                        kMostThreads / kWarp * sizeof(double));
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    double sum = 0;
    const auto add = [&](int64_t /*at*/, const Floats<kWidth>& values) {
      sum += magnitude_of(values);
    };
    for_own_vectors<kWidth, kWide ? kWidth : 1>(thread, args.values, args.count, add);
    const int64_t last = args.count / kWidth * kWidth + index_in_grid(thread);
    if (last < args.count) sum += double{std::fabs(static_cast<float>(args.values[last]))};
    const double all = sum_of_block(thread, sum, thread.template shared<double>());
    if (thread.index() == 0) args.partial[thread.block_x()] = all;
  }
};

struct MeanOfPartials {
  static constexpr int kMostThreads = 256;
  int64_t count = 0;     // numbers in all
  int64_t partials = 0;  // partial sums
  const double* partial = nullptr;
  float* mean = nullptr;

  Grid grid() const {
    return {.threads = kMostThreads, .shared = kMostThreads / kWarp * sizeof(double)};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    double sum = 0;
    for (int64_t at = thread.index(); at < partials; at += thread.threads()) {
      sum += partial[at];
    }
    const double all = sum_of_block(thread, sum, thread.template shared<double>());
    if (thread.index() == 0) *mean = static_cast<float>(all / static_cast<double>(count));
  }
};

// Call run(kernel) with the suitable kernels, one after the other.
template <typename Number, typename Run>
void with_stochastic_kernel(const StochasticOnGpu<Number>& on, Run run,
                            int64_t most_blocks = kMostListBlocks) {
  constexpr int kWidth = kMostMoved<Number>;
  if (lies_by(kWidth, on.args.dy) && lies_by(kWidth, on.args.pruned)) {
    return run(StochasticPrune<Number, true>{on, most_blocks});
  }
  run(StochasticPrune<Number, false>{on, most_blocks});
}
template <typename Number, typename Run>
void with_mean_kernels(const MeanMagnitudeArgs<Number>& args, Run run,
                       int64_t most_blocks = kMostPartials) {
  const auto both = [&](const auto& sums) {
    run(sums);
    run(MeanOfPartials{args.count, sums.grid().x, args.partial, args.mean});
  };
  if (lies_by(kMostMoved<Number>, args.values)) {
    return both(PartialMagnitudes<Number, true>{args, most_blocks});
  }
  both(PartialMagnitudes<Number, false>{args, most_blocks});
}

}  // namespace approx
