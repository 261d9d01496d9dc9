// Choosing what stays of a gradient, on plain pointers. Gradients are [N,H,W,C] in memory (channels
// last); draw i of a stream belongs to element i in that order, on every device.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/bfloat16.h"
#include "kernels/rng.h"
#include "kernels/select/nm_choice.h"

namespace approx {

// Stochastic pruning (Ye et al. 2020, Algorithm 1): an entry of magnitude below tau becomes
// sign * tau with probability |entry| / tau, else zero; the others stay.
template <typename Number>
struct StochasticArgs {
  int64_t count = 0;
  const Number* dy = nullptr;
  Number* pruned = nullptr;
  float tau = 0;  // which a Number can be; zero: everything stays
  Rng rng;
};

// The threshold that stands for `tau`, which was rounded to a Number: where that is beyond the
// range of a Number the largest one. Pruning is without bias by any threshold, but not by an
// infinite one.
template <typename Number>
constexpr float threshold_of(float tau) {
  constexpr float kMost = sizeof(Number) == sizeof(float)    ? 0x1.fffffep+127F
                          : std::is_same_v<Number, BFloat16> ? 0x1.fep+127F
                                                             : 65504.0F;
  return tau > kMost ? kMost : tau;
}

// Elements [begin, end); begin a multiple of 4. Returns how many of them are not zero. Both give
// the same bits.
template <typename Number>
int64_t stochastic_reference(const StochasticArgs<Number>& args, int64_t begin, int64_t end);
int64_t stochastic_simd(const StochasticArgs<float>& args, int64_t begin, int64_t end);
int64_t stochastic_simd(const StochasticArgs<BFloat16>& args, int64_t begin, int64_t end);

// StochasticArgs with what the CPU has as numbers: both on the GPU, so that nothing waits.
template <typename Number>
struct StochasticOnGpu {
  StochasticArgs<Number> args;  // its tau is not read
  const float* tau = nullptr;   // [], rounded to what a Number can be
  int64_t* kept = nullptr;      // [], to which the number of entries that are not zero is added
};

// N:M pruning (McDanel et al. 2022, Algorithm 1): of every m neighbouring channels of a pixel the n
// of largest key stay, of equal keys the lower channel. A last group of r < m channels keeps
// min(n, r). The key is the magnitude, or a draw.
template <typename Number>
struct NmArgs {
  int64_t pixels = 0, channels = 0;
  int64_t n = 1, m = 1;  // n <= m <= 32
  bool random = false;
  bool rescale_group = false;  // multiply what stays by sum|group| / sum|kept|
  const Number* dy = nullptr;
  Number* pruned = nullptr;
  Rng rng;
};

// Pixels [begin, end). `first_draw`: the number of the draw for args.dy[0]. Returns how many of
// their elements are not zero.
template <typename Number>
int64_t nm_reference(const NmArgs<Number>& args, int64_t begin, int64_t end,
                     int64_t first_draw = 0);

// The same bits where m divides the channels, for elements [begin, end); both multiples of m, begin
// also of 4, and first_draw.
int64_t nm_simd(const NmArgs<float>& args, int64_t begin, int64_t end, int64_t first_draw = 0);
int64_t nm_simd(const NmArgs<BFloat16>& args, int64_t begin, int64_t end, int64_t first_draw = 0);

// The same on a GPU.
template <typename Number>
struct NmOnGpu {
  NmArgs<Number> args;
  int64_t images = 1;          // that the pixels are of
  bool rescale_plane = false;  // multiply what stays of a plane by sum|plane| / sum|kept|
  int64_t* kept = nullptr;     // [], to which the number of entries that are not zero is added
};

// Multiplies each of the channels of some pixels by its factor, and rounds the products.
template <typename Number>
struct ChannelFactors {
  int64_t pixels = 0, channels = 0;
  const float* factor = nullptr;  // [channels]
  Number* values = nullptr;       // [pixels,channels]
};
void scale_channels_simd(const ChannelFactors<float>& args);
void scale_channels_simd(const ChannelFactors<BFloat16>& args);

}  // namespace approx
