// N:M pruning as a rule (McDanel et al. 2022, Algorithm 1).
#pragma once

#include <algorithm>
#include <cstdint>

namespace approx {

// Over what the sum of magnitudes is as large as before once what stays has been multiplied.
enum class Rescaling : uint8_t { kNone, kGroup, kPlane };

// Of every m neighbouring channels of a pixel the n of largest magnitude stay, of equals the lower
// channel, or any n. A last group of r < m channels keeps min(n, r). 1 <= n <= m <= 32.
struct NmChoice {
  int64_t n = 2, m = 4;
  bool random = false;
  Rescaling rescaling = Rescaling::kNone;

  // Of so many channels.
  constexpr int64_t kept(int64_t channels) const {
    return channels / m * n + std::min(n, channels % m);
  }
};

}  // namespace approx
