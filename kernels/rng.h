// Random numbers from a counter: Philox4x32-10 (Salmon et al., SC 2011, "Parallel random numbers:
// as easy as 1, 2, 3"). A draw is a function of where it is used. So any thread count, device and
// repetition draws equal numbers, and a checkpoint needs no state.
#pragma once

#include <array>
#include <cstdint>

#include "products/product.h"

namespace approx {

// (The functions are constexpr so that GPU kernels can call them.)
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

// The random stream of one use: (seed, layer, step, product), and a number for further uses. If
// several processes train one network, each has its own streams; rank 0 has those of a single
// process.
struct Rng {
  uint64_t seed = 0;
  uint32_t layer = 0;  // below 2^16
  uint64_t step = 0;   // below 2^48
  Product product = Product::kWeightGradient;
  uint32_t stream = 0;  // below 2^12: data order, augmentation, initialisation have their own
  uint32_t rank = 0;    // below 2^16
  // Address of the current step in the memory of the drawing device; if set, it is read at the draw
  // in place of `step`. A captured graph must not use the step of its capture when it is replayed.
  const uint64_t* step_at = nullptr;

  // A stream for a method whose ranks must draw alike.
  Rng shared() const {
    Rng same = *this;
    same.rank = 0;
    return same;
  }

  constexpr uint64_t current_step() const { return step_at == nullptr ? step : *step_at; }

  // The counter of block i, which has four words.
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

// Further streams besides those of the products (0).
enum RngStream : uint32_t {
  kOrderStream = 1,
  kAugmentStream = 2,
  kInitStream = 3,
  kBlockStream = 4
};

}  // namespace approx
