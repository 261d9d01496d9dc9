// How sums of any length are taken of floats: a short sum in float, those added up in double.
//
// The bound. A number passes at most kFloatRoundings roundings in float before its short sum goes
// to double, and one more where a result is a float. A sum of n numbers x is then off by at most
//   (kFloatRoundings + 1) * 2^-24 * sum|x| < 1e-6 * sum|x|,
// whatever n is (in double 2^21 numbers add 2^-32). No sum is beyond the range of double.
#pragma once

#include <cmath>
#include <cstdint>

namespace approx {

inline constexpr int64_t kFloatRoundings = 15;

// So many numbers one after the other, in float alone.
inline constexpr int64_t kShortSum = kFloatRoundings + 1;

// Sums of squares below this may have lost squares that are no normal floats: norms below 2^-50.
inline constexpr double kLeastSquares = 0x1p-100;

// Whether a sum of squares that was begun in float must be taken in double: it has squares beyond
// the range of float, or next to nothing but squares below it. (A sum of zero is exact if all
// numbers are zero, which the sum does not say.)
inline bool needs_double(double squares) {
  return !(squares >= kLeastSquares && std::isfinite(squares));
}

}  // namespace approx
