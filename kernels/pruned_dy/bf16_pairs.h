// Pairs of entries in bfloat16, for gradients on processors with AVX512_BF16.
//
// `vdpbf16ps` multiplies pairs of neighbours. Two entries are processed together: their values are
// broadcast as one pair, and vpunpck interleaves their rows on the way from the cache. This takes
// no time from the products. Rows are packed in an order that vpunpck turns into the right one for
// the sums.
//
// Only for files that are compiled under HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL.
#pragma once

#include <hwy/highway.h>
#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/aligned_numbers.h"

#define APPROX_INLINE __attribute__((always_inline))
#define APPROX_PAIRS_TARGET \
  "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx512bf16,popcnt"

namespace approx {

constexpr int64_t kPart = 32;  // numbers of bfloat16 in a vector

// A place is the beginning of an entry's row, in units of this many numbers, so that 16 bits reach
// any row of a block.
constexpr int64_t kPlaceUnit = 4;

// Whether the processor has all features that APPROX_PAIRS_TARGET names.
inline bool has_bf16_products() {
  return __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512vbmi2") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

// The indices of the lanes of a vector.
struct LaneNumbers {
  alignas(64) uint16_t lane[kPart] = {};
  constexpr LaneNumbers() {
    for (int i = 0; i < kPart; ++i) lane[i] = static_cast<uint16_t>(i);
  }
};
inline constexpr LaneNumbers kLaneNumbers;

}  // namespace approx

HWY_PUSH_ATTRIBUTES(APPROX_PAIRS_TARGET)
namespace approx {

// Calls `body` with 0, 1, ... kCount - 1 as constants.
template <int kCount, typename Body>
APPROX_INLINE inline void unrolled_pairs(Body body) {
  [&]<int... i>(std::integer_sequence<int, i...>) APPROX_INLINE {
    (body(std::integral_constant<int, i>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}

APPROX_INLINE inline __m512i lane_numbers() { return _mm512_load_si512(kLaneNumbers.lane); }

// The order of a vector's numbers in packed rows. With it, sums from vpunpcklwd are those of the
// first sixteen numbers in order, and sums from vpunpckhwd those of the others.
APPROX_INLINE inline __m512i packed_order() {
  alignas(64) uint16_t order[kPart];
  for (int c = 0; c < kPart / 2; ++c) {
    order[c / 4 * 8 + c % 4] = static_cast<uint16_t>(c);
    order[c / 4 * 8 + 4 + c % 4] = static_cast<uint16_t>(kPart / 2 + c);
  }
  return _mm512_load_si512(order);
}

// Adds the pair `value` times a vector of each of the rows `one` and `other`, both in packed_order.
// The sums sum[0] are of the first sixteen numbers, sum[1] of the others.
APPROX_INLINE inline void add_pair(__m512i value, const uint16_t* one, const uint16_t* other,
                                   __m512 (&sum)[2]) {
  __m512i a = _mm512_load_si512(one), b = _mm512_load_si512(other);
  // Otherwise the compiler reads both again for the second product.
  asm("" : "+v"(a), "+v"(b));
  sum[0] = _mm512_dpbf16_ps(sum[0], (__m512bh)value, (__m512bh)_mm512_unpacklo_epi16(a, b));
  sum[1] = _mm512_dpbf16_ps(sum[1], (__m512bh)value, (__m512bh)_mm512_unpackhi_epi16(a, b));
}

// Stores the numbers of `v` with nonzero magnitude side by side, and their places. Returns how
// many. A NaN is stored, -0 is not. Writes a whole vector to each array.
APPROX_INLINE inline int64_t store_entries(__m512i v, __m512i places, uint16_t* value,
                                           uint16_t* place) {
  const __mmask32 kept = _mm512_test_epi16_mask(v, _mm512_set1_epi16(0x7FFF));
  // The instruction vpcompressw takes five cycles, so the lane indices are compressed once, and
  // permute both vectors.
  const __m512i order = _mm512_maskz_compress_epi16(kept, lane_numbers());
  _mm512_storeu_si512(value, _mm512_permutexvar_epi16(order, v));
  _mm512_storeu_si512(place, _mm512_permutexvar_epi16(order, places));
  return std::popcount(static_cast<uint32_t>(kept));
}

// Stores a vector of sums, rounded.
APPROX_INLINE inline void store_rounded(__m512 low, __m512 high, uint16_t* to) {
  _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

}  // namespace approx
HWY_POP_ATTRIBUTES
