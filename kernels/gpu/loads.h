// Loads and stores that keep memory busy: several loads are in flight at a time, and one
// instruction moves as many neighbours as it can.
#pragma once

#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/bfloat16.h"
#include "kernels/float16.h"
#include "kernels/gpu/kernel.h"

namespace approx {

// Calls body(i, load(i)) for i = first, first + step, ... below end. The loads of kTurns iterations
// wait together, whatever body writes.
template <int kTurns = 4, typename Load, typename Body>
APPROX_GPU void for_loaded(int64_t first, int64_t end, int64_t step, Load load, Body body) {
  for (; first < end; first += kTurns * step) {
    decltype(load(first)) loaded[kTurns];
    APPROX_UNROLL(kTurns)
    for (int turn = 0; turn < kTurns; ++turn) {
      // (A conditional load would wait alone. Beyond the end, the last element is loaded again.)
      const int64_t i = first + turn * step;
      loaded[turn] = load(i < end ? i : end - 1);
    }
    APPROX_UNROLL(kTurns)
    for (int turn = 0; turn < kTurns; ++turn) {
      if (first + turn * step < end) body(first + turn * step, loaded[turn]);
    }
  }
}

// The most numbers that one instruction moves.
template <typename Number>
constexpr int kMostMoved = 16 / sizeof(Number);

template <typename Number>
using Bits = std::conditional_t<sizeof(Number) == sizeof(uint16_t), uint16_t, uint32_t>;

// kWidth neighbours as they are in memory, in words. Several of them can be loaded before the first
// arrives, as long as none is used.
template <typename Number, int kWidth>
struct Neighbours {
  static constexpr int kInWord = sizeof(uint32_t) / sizeof(Number);
  uint32_t word[kWidth / kInWord];

  APPROX_GPU Floats<kWidth> floats() const {
    Floats<kWidth> values;
    for (int i = 0; i < kWidth; ++i) {
      if constexpr (kInWord == 1) {
        values.v[i] = std::bit_cast<float>(word[i]);
      } else {
        Number number;
        number.bits = static_cast<uint16_t>(word[i / 2] >> i % 2 * 16);
        values.v[i] = static_cast<float>(number);
      }
    }
    return values;
  }
};

// Neighbours that one instruction cannot move together, held as floats.
template <int kWidth>
struct LoadedFloats {
  Floats<kWidth> values;

  APPROX_GPU Floats<kWidth> floats() const { return values; }
};

// Load or store kWidth neighbours, kMoved at a time, which is 1 or the most that one instruction
// moves.
template <int kWidth, int kMoved, typename Number>
APPROX_GPU Neighbours<Number, kWidth> load_by(const Number* from) {
  Neighbours<Number, kWidth> all;
  if constexpr (kMoved == 1) {
    constexpr int kInWord = Neighbours<Number, kWidth>::kInWord;
    for (int i = 0; i < kWidth; ++i) {
      const uint32_t bits = std::bit_cast<Bits<Number>>(from[i]);
      all.word[i / kInWord] = i % kInWord == 0 ? bits : all.word[i / kInWord] | bits << 16;
    }
  } else {
    static_assert(kMoved == kWidth && kMoved == kMostMoved<Number>);
#if defined(__CUDA_ARCH__)
    all = std::bit_cast<Neighbours<Number, kWidth>>(*reinterpret_cast<const uint4*>(from));
#else
    std::memcpy(&all, from, sizeof all);
#endif
  }
  return all;
}
template <int kWidth, int kMoved, typename Number>
APPROX_GPU void store_by(Number* to, const Floats<kWidth>& values) {
  for (int first = 0; first < kWidth; first += kMoved) {
    Floats<kMoved> some;
    for (int i = 0; i < kMoved; ++i) some.v[i] = values.v[first + i];
    store<kMoved>(to + first, some);
  }
}

// kWidth neighbours, loaded with as few instructions as possible; floats() converts them to floats.
template <typename Number, int kWidth>
using Ahead = std::conditional_t<kWidth == kMostMoved<Number>, Neighbours<Number, kWidth>,
                                 LoadedFloats<kWidth>>;
template <int kWidth, typename Number>
APPROX_GPU Ahead<Number, kWidth> load_ahead(const Number* from) {
  if constexpr (kWidth == kMostMoved<Number>) {
    return load_by<kWidth, kWidth>(from);
  } else {
    return {load_constant<kWidth>(from)};
  }
}

// Two numbers of sixteen bits, the first in the lower half, rounded by one instruction. (It makes
// 0x7FFF of a NaN, also in bfloat16, for which BFloat16 makes 0x7FC0.)
template <typename Number>
APPROX_GPU uint32_t packed(float first, float second) {
#if defined(__CUDA_ARCH__)
  uint32_t word = 0;
  if constexpr (std::is_same_v<Number, BFloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  } else {
    static_assert(std::is_same_v<Number, Float16>);
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  }
  return word;
#else
  return Number(first).bits | static_cast<uint32_t>(Number(second).bits) << 16;
#endif
}

// Stores neighbours as load_ahead loads them, rounded in pairs.
template <int kWidth, typename Number>
APPROX_GPU void store_packed(Number* to, const Floats<kWidth>& values) {
  if constexpr (sizeof(Number) == sizeof(uint16_t) && kWidth == kMostMoved<Number>) {
    Neighbours<Number, kWidth> all;
    for (int i = 0; i < kWidth / 2; ++i) {
      all.word[i] = packed<Number>(values.v[2 * i], values.v[2 * i + 1]);
    }
    store_bits<kWidth>(&to->bits, std::bit_cast<Halves<kWidth>>(all));
  } else {
    store<kWidth>(to, values);
  }
}

// Loads floats of kWidth channels, sixteen bytes at a time, from memory that nobody writes to while
// the kernel runs.
template <int kWidth>
APPROX_GPU Floats<kWidth> load_channels(const float* from) {
  constexpr int kMoved = kWidth < 4 ? kWidth : 4;
  Floats<kWidth> values;
  for (int first = 0; first < kWidth; first += kMoved) {
    const auto some = load_constant<kMoved>(from + first);
    for (int i = 0; i < kMoved; ++i) values.v[first + i] = some.v[i];
  }
  return values;
}

}  // namespace approx
