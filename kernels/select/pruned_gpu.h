// Stochastic pruning on a GPU, and the mean that its threshold goes by.
#pragma once

#include "kernels/gpu/sums.h"
#include "kernels/select/magnitude.h"
#include "kernels/select/pruned.h"

namespace approx {

// What becomes of an entry, by its word of the stream.
APPROX_GPU float stochastically_pruned(float g, float tau, uint32_t word) {
  const float size = g < 0 ? -g : g;
  if (!(size < tau)) return g;
  if (!(size > Rng::uniform(word) * tau)) return 0;
  return g < 0 ? -tau : tau;  // (a size above a draw is not zero, so its sign is that of g)
}

// A thread takes four neighbouring elements at a time, which are one block of the stream: the same
// draws and the same bits as the loops of kernels/select/pruned.h. `kFours`: both arrays lie so
// that four numbers are moved by one instruction.
template <typename Number, bool kFours>
struct StochasticPrune {
  static constexpr int kMostThreads = 256;
  StochasticOnGpu<Number> on;
  int64_t most_blocks = 1024;  // each adds what it kept to one number

  Grid grid() const {
    const int64_t enough = blocks_of(blocks_of(on.args.count, 4), kMostThreads);
    return {.x = enough < most_blocks ? enough : most_blocks,
            .threads = kMostThreads,
            .shared = kMostThreads / kWarp * sizeof(int64_t)};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const StochasticArgs<Number>& a = on.args;
    const float tau = *on.tau;
    int64_t kept = 0;
    const int64_t stride = thread.blocks() * thread.threads() * 4;
    for (int64_t at = (thread.block_x() * thread.threads() + thread.index()) * 4; at < a.count;
         at += stride) {
      const auto words = a.rng.block(static_cast<uint32_t>(at / 4));
      if (kFours && at + 4 <= a.count) {
        Floats<4> values = load<4>(a.dy + at);
        for (int i = 0; i < 4; ++i) {
          values.v[i] = stochastically_pruned(values.v[i], tau, words[static_cast<size_t>(i)]);
          kept += values.v[i] != 0 ? 1 : 0;
        }
        store<4>(a.pruned + at, values);
      } else {
        for (int i = 0; i < 4 && at + i < a.count; ++i) {
          const float value = stochastically_pruned(static_cast<float>(a.dy[at + i]), tau,
                                                    words[static_cast<size_t>(i)]);
          kept += value != 0 ? 1 : 0;
          a.pruned[at + i] = Number(value);
        }
      }
    }
    const int64_t all = sum_of_block(thread, kept, thread.template shared<int64_t>());
    if (thread.index() == 0) thread.add(on.kept, all);
  }
};

// A sum for each of at most `most_blocks` blocks, then their mean by one block: the order depends
// on the count alone.
template <typename Number>
struct PartialMagnitudes {
  static constexpr int kMostThreads = 256;
  MeanMagnitudeArgs<Number> args;
  int64_t most_blocks = kMostPartials;

  Grid grid() const {
    const int64_t enough = blocks_of(args.count, int64_t{4} * kMostThreads);
    return {.x = enough < most_blocks ? enough : most_blocks,
            .threads = kMostThreads,
            .shared = kMostThreads / kWarp * sizeof(double)};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    float sum = 0;
    const int64_t stride = thread.blocks() * thread.threads();
    APPROX_UNROLL(4)
    for (int64_t at = thread.block_x() * thread.threads() + thread.index(); at < args.count;
         at += stride) {
      const float value = load_constant<1>(args.values + at).v[0];
      sum += value < 0 ? -value : value;
    }
    const double all = sum_of_block(thread, double{sum}, thread.template shared<double>());
    if (thread.index() == 0) args.partial[thread.block_x()] = all;
  }
};

struct MeanOfPartials {
  static constexpr int kMostThreads = 256;
  int64_t count = 0;     // of numbers
  int64_t partials = 0;  // how many sums there are
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

}  // namespace approx
