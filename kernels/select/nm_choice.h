// N:M pruning as a rule (McDanel et al. 2022, Algorithm 1).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace approx {

// Over what the sum of magnitudes is as large as before once what stays has been multiplied.
enum class Rescaling : uint8_t { kNone, kGroup, kPlane };

// What is multiplied with what stays, of sums of magnitudes before and after: their ratio; 1 where
// nothing stays, or so little that the ratio is no float and would make NaN of zeros.
template <typename Real>
constexpr Real rescaling_factor(Real all, Real left) {
  if (!(left > 0)) return 1;
  const Real ratio = all / left;
  return ratio > Real{std::numeric_limits<float>::max()} ? 1 : ratio;
}

// The same of sums that are numbers of double and may be beyond the range of float: the factor that
// floats give, of sums that are rounded to floats and scaled by a power of two where they are none.
constexpr float rescaling_factor_of_sums(double all, double left) {
  if (all >= 0x1p+127) {
    all *= 0x1p-64;
    left *= 0x1p-64;
  }
  return rescaling_factor(static_cast<float>(all), static_cast<float>(left));
}

// What the magnitudes of a group of up to 32 are multiplied by where their sum is beyond the range
// of float.
inline constexpr float kGroupScale = 0x1p-6F;

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
