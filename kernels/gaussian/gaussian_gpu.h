// Normal draws on a GPU.
#pragma once

#include <array>
#include <cmath>
#include <numbers>

#include "kernels/gaussian/gaussian.h"
#include "kernels/gpu/draws.h"

namespace approx {

// Makes a radius and an angle from each two of the four words of a block (Box & Muller 1958). See
// write_draws.
template <bool kFours>
struct GaussianDraws {
  static constexpr int kMostThreads = kDrawThreads;
  GaussianArgs args;

  Grid grid() const { return grid_of_draws(args.count); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    write_draws<kFours>(thread, args.rng, args.count, args.out,
                        [&](const std::array<uint32_t, 4>& words) { return normals(words); });
  }

 private:
  APPROX_GPU Floats<4> normals(const std::array<uint32_t, 4>& words) const {
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
    return normal;
  }
};

}  // namespace approx
