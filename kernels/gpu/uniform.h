// Uniform draws made on a GPU.
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/gpu/uniform_args.h"

namespace approx {

// A thread writes the four numbers of one block of the stream. `kFours`: `out` lies so that they
// are written by one instruction.
template <bool kFours>
struct UniformDraws {
  static constexpr int kMostThreads = 256;
  UniformArgs args;

  Grid grid() const {
    return {.x = blocks_of(blocks_of(args.count, 4), kMostThreads), .threads = kMostThreads};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const int64_t block = thread.block_x() * thread.threads() + thread.index(), at = 4 * block;
    if (at >= args.count) return;
    const auto words = args.rng.block(static_cast<uint32_t>(block));
    if (kFours && at + 4 <= args.count) {
      store<4>(args.out + at, {{Rng::uniform(words[0]), Rng::uniform(words[1]),
                                Rng::uniform(words[2]), Rng::uniform(words[3])}});
      return;
    }
    for (int i = 0; i < 4 && at + i < args.count; ++i) {
      args.out[at + i] = Rng::uniform(words[static_cast<size_t>(i)]);
    }
  }
};

}  // namespace approx
