// 8-bit integers in place of numbers. Numbers that share a scale become whole multiples of it, from
// -127 to 127. Everything is computed in float, so that every variant and device rounds alike.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace approx {

// Which numbers of an operand share a scale.
enum class Scales : uint8_t {
  // Numbers that meet no others in a sum: the result of a product is rescaled by rows and columns.
  //   forward          an example of x, an output channel of w
  //   data gradient    an example of dY, an input channel of w
  //   weight gradient  an input channel of x, an output channel of dY
  kSlices,
  kTensor  // all
};

constexpr int32_t kLargestInteger = 127;

// A scale, and what numbers are multiplied by to become integers.
struct Scale {
  float value = 0, inverse = 0;

  // `largest` is the largest magnitude; NaN or infinite if one of the numbers is. The scale is then
  // NaN, and so is every result that it has a part in. Magnitudes below 4e-37 count as zero.
  static Scale of(float largest) {
    if (!std::isfinite(largest)) return {.value = std::nanf(""), .inverse = 0};
    const float inverse = static_cast<float>(kLargestInteger) / largest;
    if (!std::isfinite(inverse)) return {};
    return {.value = largest / static_cast<float>(kLargestInteger), .inverse = inverse};
  }
};

// To nearest, ties to even.
inline int32_t rounded_to_nearest(float number, const Scale& scale) {
  if (scale.inverse == 0) return 0;
  const auto whole = static_cast<int32_t>(std::nearbyint(number * scale.inverse));
  return std::clamp(whole, -kLargestInteger, kLargestInteger);
}

// Up or down by chance, with `uniform` in (0, 1): on average over it the number itself.
inline int32_t rounded_by_chance(float number, const Scale& scale, float uniform) {
  if (scale.inverse == 0) return 0;
  const float times = number * scale.inverse;
  const auto whole = static_cast<int32_t>(std::floor(times + uniform));
  return std::clamp(whole, -kLargestInteger, kLargestInteger);
}

// Magnitudes as whole numbers in the same order: a NaN is above infinity, and infinity above all.
inline uint32_t magnitude_bits(float number) {
  return std::bit_cast<uint32_t>(number) & 0x7FFFFFFFU;
}

}  // namespace approx
