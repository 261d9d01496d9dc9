// The number that keys a layer's random draws (Rng::layer). It is the layer's index, from 1, with a
// bit that is set for linear layers and not for convolutions.
#pragma once

#include <cstdint>

namespace approx {

inline constexpr uint32_t kLinearBit = 1u << 15;

constexpr uint32_t layer_number(int64_t index, bool is_linear) {
  return (is_linear ? kLinearBit : 0) | static_cast<uint32_t>(index);
}

constexpr bool is_linear_number(uint32_t number) { return (number & kLinearBit) != 0; }

}  // namespace approx
