// N:M pruning as a rule (McDanel et al. 2022, Algorithm 1).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace approx {

// The units that keep their sum of magnitudes when the kept entries are multiplied.
enum class Rescaling : uint8_t { kNone, kGroup, kPlane };

// The factor for kept entries, from sums of magnitudes before and after: their ratio. It is 1 where
// nothing is kept, or where so little is kept that the ratio is no finite float. Such a ratio would
// make NaN of zeros.
template <typename Real>
constexpr Real rescaling_factor(Real all, Real left) {
  if (!(left > 0)) return 1;
  const Real ratio = all / left;
  return ratio > Real{std::numeric_limits<float>::max()} ? 1 : ratio;
}

// The factor for sums in double, which may exceed the range of float. It is the factor of the sums
// rounded to float. If they exceed its range, they are first scaled by a power of two.
constexpr float rescaling_factor_of_sums(double all, double left) {
  if (all >= 0x1p+127) {
    all *= 0x1p-64;
    left *= 0x1p-64;
  }
  return rescaling_factor(static_cast<float>(all), static_cast<float>(left));
}

// The factor for the magnitudes of a group of up to 32 where their sum exceeds the range of float.
inline constexpr float kGroupScale = 0x1p-6F;

// The rule keeps n of every m neighbouring channels of a pixel: those of largest magnitude (of
// equal ones the lower channel), or any n. A last group of r < m channels keeps min(n, r). 1 <= n
// <= m <= 32.
struct NmChoice {
  int64_t n = 2, m = 4;
  bool random = false;
  Rescaling rescaling = Rescaling::kNone;

  // The number of kept channels among `channels`.
  constexpr int64_t kept(int64_t channels) const {
    return channels / m * n + std::min(n, channels % m);
  }
};

}  // namespace approx
