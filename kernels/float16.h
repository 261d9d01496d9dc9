// Numbers of IEEE 754 binary16 in plain memory, for loops without LibTorch.
#pragma once

#include <bit>
#include <cstdint>

namespace approx {

// (The functions are constexpr so that GPU kernels can call them.)
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  // Rounds to nearest, ties to even; a NaN becomes a quiet NaN.
  explicit constexpr Float16(float value) {
#if defined(__CUDA_ARCH__)
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    const auto whole = std::bit_cast<uint32_t>(value);
    const uint32_t size = whole & 0x7FFFFFFF;
    uint32_t half = 0;
    if (size > 0x7F800000) {
      half = 0x7FFF;
    } else if (size >= kOverflows) {
      half = 0x7C00;
    } else if (size >= kLeastNormal) {
      half = (size - (112U << 23) + 0xFFF + (size >> 13 & 1)) >> 13;
    } else {
      // Adds the float whose last place is that of the smallest binary16, so that the sum is
      // rounded there.
      const float placed = std::bit_cast<float>(size) + 0.5F;
      half = std::bit_cast<uint32_t>(placed) - 0x3F000000;
    }
    bits = static_cast<uint16_t>(half | (size > 0x7F800000 ? 0 : whole >> 16 & 0x8000));
#endif
  }
  explicit constexpr operator float() const {
#if defined(__CUDA_ARCH__)
    float value = 0;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#else
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, size = bits & 0x7FFF;
    if (size >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000 | (size & 0x3FF) << 13);
    if (size >= 0x400) return std::bit_cast<float>(sign | ((size << 13) + (112U << 23)));
    const float value = static_cast<float>(size) * 0x1p-24F;
    return sign != 0 ? -value : value;
#endif
  }

 private:
  static constexpr uint32_t kOverflows = 0x477FF000;    // as a float: 65520, half way to 2^16
  static constexpr uint32_t kLeastNormal = 0x38800000;  // 2^-14
};

}  // namespace approx
