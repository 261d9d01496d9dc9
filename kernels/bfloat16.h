// Numbers of bfloat16 in plain memory, as loops without LibTorch see them: the upper half of a
// float.
#pragma once

#include <bit>
#include <cstdint>

namespace approx {

// (Its functions are constexpr so that kernels of a GPU may call them.)
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  // Rounded to the nearest, of two equally near to the even one; a NaN becomes the quiet one.
  explicit constexpr BFloat16(float value) {
    const auto whole = std::bit_cast<uint32_t>(value);
    bits =
        value != value ? 0x7FC0 : static_cast<uint16_t>((whole + 0x7FFF + (whole >> 16 & 1)) >> 16);
  }
  explicit constexpr operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

}  // namespace approx
