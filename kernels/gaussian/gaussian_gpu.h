// Normal draws on a GPU.
#pragma once

#include <cmath>
#include <numbers>

#include "kernels/gaussian/gaussian.h"
#include "kernels/gpu/kernel.h"

namespace approx {

// A thread writes the four normals of one block of the stream (Box & Muller 1958): a radius and an
// angle for each two. `kFours`: `out` lies so that they are written by one instruction.
template <bool kFours>
struct GaussianDraws {
  static constexpr int kMostThreads = 256;
  GaussianArgs args;

  Grid grid() const {
    return {.x = blocks_of(blocks_of(args.count, 4), kMostThreads), .threads = kMostThreads};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const int64_t block = thread.block_x() * thread.threads() + thread.index(), at = 4 * block;
    if (at >= args.count) return;
    const auto words = args.rng.block(static_cast<uint32_t>(block));
    Floats<4> normal;
    for (size_t pair = 0; pair < 4; pair += 2) {
      const float u = Rng::uniform(words[pair]);
      const float turns = Rng::uniform(words[pair + 1]);
      const float radius = args.stddev * std::sqrt(-2 * std::log(u));
      float sine = 0, cosine = 0;
#if defined(__CUDA_ARCH__)
      sincospif(2 * turns, &sine, &cosine);
#else
      const float angle = 2 * std::numbers::pi_v<float> * turns;
      sine = std::sin(angle), cosine = std::cos(angle);
#endif
      normal.v[pair] = args.mean + radius * cosine;
      normal.v[pair + 1] = args.mean + radius * sine;
    }
    if (kFours && at + 4 <= args.count) return store<4>(args.out + at, normal);
    for (int i = 0; i < 4 && at + i < args.count; ++i) args.out[at + i] = normal.v[i];
  }
};

}  // namespace approx
