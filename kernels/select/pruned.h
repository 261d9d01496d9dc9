// Prunes a gradient, on plain pointers. Gradients are [N,H,W,C] in memory (channels last). Draw i
// of a stream belongs to element i in that order, on every device.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/bfloat16.h"
#include "kernels/rng.h"
#include "kernels/select/nm_choice.h"

namespace approx {

// Stochastic pruning (Ye et al. 2020, Algorithm 1). An entry of magnitude below tau becomes sign *
// tau with probability |entry| / tau, else zero. The others are kept.
template <typename Number>
struct StochasticArgs {
  int64_t count = 0;
  const Number* dy = nullptr;
  Number* pruned = nullptr;
  float tau = 0;  // a value of the type Number; zero: everything is kept
  Rng rng;
};

// The threshold to use for `tau`, which was rounded to a Number. If it exceeds the range of a
// Number, it is the largest Number. Pruning is unbiased with any threshold except an infinite one.
template <typename Number>
constexpr float threshold_of(float tau) {
  constexpr float kMost = sizeof(Number) == sizeof(float)    ? 0x1.fffffep+127F
                          : std::is_same_v<Number, BFloat16> ? 0x1.fep+127F
                                                             : 65504.0F;
  return tau > kMost ? kMost : tau;
}

// Prunes elements [begin, end); begin is a multiple of 4. Returns how many of them are nonzero.
// Both functions give equal bits.
template <typename Number>
int64_t stochastic_reference(const StochasticArgs<Number>& args, int64_t begin, int64_t end);
int64_t stochastic_simd(const StochasticArgs<float>& args, int64_t begin, int64_t end);
int64_t stochastic_simd(const StochasticArgs<BFloat16>& args, int64_t begin, int64_t end);

// StochasticArgs, with tau and kept in GPU memory, so that nothing waits.
template <typename Number>
struct StochasticOnGpu {
  StochasticArgs<Number> args;  // its tau is not read
  const float* tau = nullptr;   // [], rounded to a value of the type Number
  int64_t* kept = nullptr;      // [], to which the number of nonzero entries is added
};

// N:M pruning (McDanel et al. 2022, Algorithm 1) keeps the n of every m neighbouring channels of a
// pixel with the largest keys, of equal keys the lower channel. A last group of r < m channels
// keeps min(n, r). The key is the magnitude, or a draw.
template <typename Number>
struct NmArgs {
  int64_t pixels = 0, channels = 0;
  int64_t n = 1, m = 1;  // n <= m <= 32
  bool random = false;
  bool rescale_group = false;  // multiply kept entries by sum|group| / sum|kept|
  const Number* dy = nullptr;
  Number* pruned = nullptr;
  Rng rng;
};

// Prunes pixels [begin, end). `first_draw`: the number of the draw for args.dy[0]. Returns how many
// of their elements are nonzero.
template <typename Number>
int64_t nm_reference(const NmArgs<Number>& args, int64_t begin, int64_t end,
                     int64_t first_draw = 0);

// As nm_reference, with equal bits, for elements [begin, end). The channels are a multiple of m,
// and so are begin and end. The numbers begin and first_draw are multiples of 4 too.
int64_t nm_simd(const NmArgs<float>& args, int64_t begin, int64_t end, int64_t first_draw = 0);
int64_t nm_simd(const NmArgs<BFloat16>& args, int64_t begin, int64_t end, int64_t first_draw = 0);

// N:M pruning on a GPU.
template <typename Number>
struct NmOnGpu {
  NmArgs<Number> args;
  int64_t images = 1;          // images that the pixels belong to
  bool rescale_plane = false;  // multiply kept entries of a plane by sum|plane| / sum|kept|
  int64_t* kept = nullptr;     // [], to which the number of nonzero entries is added
};

// Multiplies each channel of some pixels by its factor, and rounds the products.
template <typename Number>
struct ChannelFactors {
  int64_t pixels = 0, channels = 0;
  const float* factor = nullptr;  // [channels]
  Number* values = nullptr;       // [pixels,channels]
};
void scale_channels_simd(const ChannelFactors<float>& args);
void scale_channels_simd(const ChannelFactors<BFloat16>& args);

}  // namespace approx
