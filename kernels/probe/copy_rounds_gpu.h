// The copy of kernels/probe/copy_rounds.h, on a GPU.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/probe/copy_rounds.h"

namespace approx {

// In each round a block copies the numbers that its neighbour copied in the round before. A
// multiprocessor returns to a number only when its own cache no longer has it. So all reads are
// from the cache that the multiprocessors share, and writes go there anyway.
struct CopyRounds {
  static constexpr int kMostThreads = 256;
  CopyRoundsArgs args;

  Grid grid() const { return {.x = args.count == 0 ? 0 : args.blocks, .threads = kMostThreads}; }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const int64_t vectors = args.count / 4, stride = thread.blocks() * thread.threads();
    const int64_t own = thread.block_x() * thread.threads() + thread.index();
    int64_t shift = 0;
    for (int64_t round = 0; round < args.rounds; ++round) {
      for (int64_t i = own; i < vectors; i += stride) {
        const int64_t at = i + shift < vectors ? i + shift : i + shift - vectors;
        store<4>(args.to + 4 * at, load<4>(args.from + 4 * at));
      }
      shift = (shift + thread.threads()) % vectors;
    }
  }
};

}  // namespace approx
