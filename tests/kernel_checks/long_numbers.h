// What sums of many numbers are tried with.
#pragma once

#include <cstdint>

namespace approx {

// What a sum may be off by, as a share of the sum of magnitudes (kernels/long_sums.h).
constexpr double kMostOff = 1e-6;
constexpr int64_t kLengths[] = {
    1, 2, 3, 15, 16, 17, 31, 33, 255, 1000, 4096, 12544, 50176, (1 << 20) + 3, 1 << 21};

enum class LongKind { kConstant, kAlternating, kRising, kHuge };
constexpr LongKind kLongKinds[] = {LongKind::kConstant, LongKind::kAlternating, LongKind::kRising,
                                   LongKind::kHuge};

// Number i of so many, of column c.
inline float long_number(LongKind kind, int64_t i, int64_t count, int64_t c) {
  const float size = 0.1F * static_cast<float>(1 + c % 7);
  switch (kind) {
    case LongKind::kConstant:
      return size;
    case LongKind::kAlternating:
      return i % 2 == 0 ? size : -size;
    case LongKind::kRising:
      return size * static_cast<float>(i + 1) / static_cast<float>(count);
    case LongKind::kHuge:
      return i == count / 3 ? 1e4F * size : 1e-4F * size;
  }
  return 0;
}

}  // namespace approx
