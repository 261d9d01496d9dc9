#include "kernels/float16.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace approx {
namespace {

TEST(Float16, EveryNumberIsThatOfLibTorch) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    Float16 own;
    own.bits = static_cast<uint16_t>(bits);
    const auto value = static_cast<float>(own);
    const float expected = at::Half(own.bits, at::Half::from_bits());
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(Float16(value)))) << bits;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(expected)) << bits;
      EXPECT_EQ(Float16(value).bits, own.bits);
    }
  }
}

// Around every number and every middle between two.
TEST(Float16, FloatsAreRoundedAsLibTorchRounds) {
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const float low = at::Half(static_cast<uint16_t>(bits), at::Half::from_bits());
    float high = at::Half(static_cast<uint16_t>(bits + 1), at::Half::from_bits());
    if (std::isinf(high)) high = 65536;
    const float middle = low + (high - low) / 2;
    for (const float value : {std::nextafter(low, high), std::nextafter(middle, low), middle,
                              std::nextafter(middle, high), std::nextafter(high, low)}) {
      for (const float either : {value, -value}) {
        EXPECT_EQ(Float16(either).bits, at::Half(either).x) << either;
      }
    }
  }
  EXPECT_EQ(Float16(1e30F).bits, 0x7C00);
}

}  // namespace
}  // namespace approx
