// Uniform draws made on a GPU.
#pragma once

#include <array>

#include "kernels/gpu/draws.h"
#include "kernels/gpu/uniform_args.h"

namespace approx {

// See write_draws.
template <bool kFours>
struct UniformDraws {
  static constexpr int kMostThreads = kDrawThreads;
  UniformArgs args;

  Grid grid() const { return grid_of_draws(args.count); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    write_draws<kFours>(thread, args.rng, args.count, args.out,
                        [](const std::array<uint32_t, 4>& words) -> Floats<4> {
                          return {{Rng::uniform(words[0]), Rng::uniform(words[1]),
                                   Rng::uniform(words[2]), Rng::uniform(words[3])}};
                        });
  }
};

}  // namespace approx
