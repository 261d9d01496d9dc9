// Numbers of bfloat16 (the upper half of a float) in plain memory, for loops without LibTorch.
#pragma once

#include <bit>
#include <cstdint>

namespace approx {

// (The functions are constexpr so that GPU kernels can call them.)
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  // Rounds to nearest, ties to even; a NaN becomes a quiet NaN.
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
