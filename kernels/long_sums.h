// Sums of floats of any length: short sums are taken in float and added up in double.
//
// The bound: a number passes at most kFloatRoundings roundings in float before its short sum goes
// to double. There is one more rounding where a result is a float. A sum of n numbers x is then off
// by at most
//   (kFloatRoundings + 1) * 2^-24 * sum|x| < 1e-6 * sum|x|,
// for any n (in double, 2^21 numbers add 2^-32). No sum exceeds the range of double.
#pragma once

#include <cmath>
#include <cstdint>

namespace approx {

inline constexpr int64_t kFloatRoundings = 15;

// This many numbers are added one after the other in float.
inline constexpr int64_t kShortSum = kFloatRoundings + 1;

// Sums of squares below this may have lost squares that are not normal floats: norms below 2^-50.
inline constexpr double kLeastSquares = 0x1p-100;

// Whether a sum of squares that was begun in float must be repeated in double. It must if it has
// squares beyond the range of float, or hardly anything but squares below that range. (A sum of
// zero is exact if all numbers are zero, which the sum does not show.)
inline bool needs_double(double squares) {
  return !(squares >= kLeastSquares && std::isfinite(squares));
}

}  // namespace approx
