// Random numbers from a counter: Philox4x32-10 (Salmon et al., SC 2011, "Parallel random numbers:
// as easy as 1, 2, 3"). A draw is a function of where it is used, so any thread count, device and
// re-run draws the same numbers, and nothing has to be saved in a checkpoint.
#pragma once

#include <array>
#include <cstdint>

#include "products/product.h"

namespace approx {

// (Its functions are constexpr so that kernels of a GPU may call them.)
struct Philox {
  static constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  static constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  static constexpr int kRounds = 10;

  // Four random words for one counter and key.
  static constexpr std::array<uint32_t, 4> block(std::array<uint32_t, 4> counter, uint64_t key) {
    auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t p0 = uint64_t{kMultiplier0} * counter[0];
      const uint64_t p1 = uint64_t{kMultiplier1} * counter[2];
      counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(p1),
                 static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(p0)};
      k0 += kWeyl0;
      k1 += kWeyl1;
    }
    return counter;
  }
};

// The random stream of one use: (seed, layer, step, product), and a number for further uses. Where
// several processes train one network, each has streams of its own; those of rank 0 are those of a
// process alone.
struct Rng {
  uint64_t seed = 0;
  uint32_t layer = 0;  // below 2^16
  uint64_t step = 0;   // below 2^48
  Product product = Product::kWeightGradient;
  uint32_t stream = 0;  // below 2^12: data order, augmentation, initialisation have their own
  uint32_t rank = 0;    // below 2^16
  // Where the step stands, in the memory of whoever draws: read there and then in place of `step`.
  // What a captured graph replays must not go by the step at which it was captured.
  const uint64_t* step_at = nullptr;

  // For a method whose ranks must draw alike.
  Rng shared() const {
    Rng same = *this;
    same.rank = 0;
    return same;
  }

  constexpr uint64_t current_step() const { return step_at == nullptr ? step : *step_at; }

  // The counter of the i-th block of four words; its first word is i.
  constexpr std::array<uint32_t, 4> counter(uint32_t i) const {
    const uint64_t now = current_step();
    return {i, static_cast<uint32_t>(now), (layer << 16) | (stream << 4) | uint32_t(product),
            (rank << 16) | static_cast<uint32_t>(now >> 32)};
  }

  constexpr std::array<uint32_t, 4> block(uint32_t i) const {
    return Philox::block(counter(i), seed);
  }

  // A uniform integer in [0, n) from one word (multiply-shift; the bias is below n / 2^32).
  static constexpr uint32_t below(uint32_t n, uint32_t word) {
    return static_cast<uint32_t>((uint64_t{n} * word) >> 32);
  }

  // A uniform number in (0, 1): 23 bits, centred, so that it is exact in a float and never 0 nor 1
  // (its logarithm is finite).
  static constexpr float uniform(uint32_t word) {
    return (static_cast<float>(word >> 9) + 0.5f) * (1.0f / 8388608.0f);
  }
};

// Streams beside those of the products (0).
enum RngStream : uint32_t {
  kOrderStream = 1,
  kAugmentStream = 2,
  kInitStream = 3,
  kBlockStream = 4
};

}  // namespace approx
