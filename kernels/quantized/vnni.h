// Products of 8-bit integers for processors with AVX512_VNNI, shared by the products of maps
// (maps_vnni.cpp) and of weights (weights_vnni.cpp).
//
// `vpdpbusd` multiplies four neighbouring bytes of each lane and adds them to one sum of 32 bits.
// One operand is unsigned: it holds its integers plus 128. A sum is therefore too large by 128
// times the sum of the other operand's integers, which is subtracted at the end.
//
// Only for files that are compiled under HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL.
#pragma once

// GCC 12 warns of the undefined lanes in its own intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

#include <hwy/highway.h>
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/aligned_numbers.h"
#include "kernels/bfloat16.h"
#include "kernels/quantized/rounding.h"
#include "kernels/select/uniform.h"

#define APPROX_INLINE __attribute__((always_inline))
#define APPROX_VNNI_TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"

namespace approx::vnni {

constexpr int64_t kLanes = 16;       // sums of a vector
constexpr int64_t kQuad = 4;         // bytes that go into one sum
constexpr int64_t kRows = 6;         // rows of a tile of sums
constexpr int64_t kMostVectors = 4;  // vectors of a row
constexpr int32_t kOffset = 128;     // of unsigned integers
constexpr int64_t kTileSums = kRows * kMostVectors * kLanes;

// Whether the processor has all features that APPROX_VNNI_TARGET names.
inline bool has_products() {
  return __builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
}

constexpr int64_t round_up(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

// A vector may be read behind the end.
template <typename T>
AlignedNumbers<T> allocate(int64_t count) {
  return allocate_numbers<T>(count + 64);
}

// Columns of sums [first, first + columns), in `vectors` vectors.
struct Panel {
  int64_t first, columns, vectors;
  int64_t width() const { return vectors * kLanes; }
};

inline std::vector<Panel> panels_of(int64_t columns) {
  std::vector<Panel> panels;
  for (int64_t first = 0; first < columns; first += kMostVectors * kLanes) {
    const int64_t own = std::min(columns - first, kMostVectors * kLanes);
    panels.push_back({first, own, (own + kLanes - 1) / kLanes});
  }
  return panels;
}

// Six rows of unsigned integers. Their bytes lie in `runs` runs of `quads` quads. Run i of a row
// begins at its pointer plus offsets[i].
struct Rows {
  const uint8_t* row[kRows];
  const int64_t* offsets;
  int64_t runs, quads;
};

// Scales of slices, and what numbers of them are multiplied by.
struct ScaleList {
  std::vector<float> value, inverse;
};

// The scales of slices with these largest magnitudes (magnitude_bits).
inline ScaleList scales_of(std::vector<uint32_t> largest, Scales scales) {
  if (scales == Scales::kTensor) {
    std::ranges::fill(largest, *std::ranges::max_element(largest));
  }
  ScaleList list;
  for (const auto bits : largest) {
    const auto scale = Scale::of(std::bit_cast<float>(bits));
    list.value.push_back(scale.value);
    list.inverse.push_back(scale.inverse);
  }
  return list;
}

// The draws of `count` elements from `first` on, in `room`.
inline const float* draws_of(const Rng& rng, int64_t first, int64_t count,
                             std::vector<float>& room) {
  const int64_t before = first % 4;
  room.resize(static_cast<size_t>(before + count + kLanes));
  fill_uniform(rng, first - before, before + count, room.data());
  return room.data() + before;
}

}  // namespace approx::vnni

HWY_PUSH_ATTRIBUTES(APPROX_VNNI_TARGET)
namespace approx::vnni {

// sums[r][:] = sum over quads q of row r times panel[q], for kVectors vectors. `panel` has
// kVectors * kLanes quads of signed integers for each quad of the rows.
template <int kVectors>
__attribute__((noinline)) void multiply(const Rows& rows, const int8_t* panel, int32_t* sums) {
  __m512i sum[kRows][kVectors];
  for (auto& row : sum) {
    for (auto& v : row) v = _mm512_setzero_si512();
  }
  for (int64_t run = 0; run < rows.runs; ++run) {
    const int64_t offset = rows.offsets[run];
    const uint8_t *r0 = rows.row[0] + offset, *r1 = rows.row[1] + offset,
                  *r2 = rows.row[2] + offset, *r3 = rows.row[3] + offset,
                  *r4 = rows.row[4] + offset, *r5 = rows.row[5] + offset;
    for (int64_t at = 0; at < rows.quads * kQuad; at += kQuad, panel += kVectors * 64) {
      __m512i by[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        by[v] = _mm512_load_si512(panel + v * 64);
        // Otherwise the compiler reads it again for each row.
        asm("" : "+v"(by[v]));
      }
      const auto add = [&](const uint8_t* row, __m512i(&to)[kVectors]) APPROX_INLINE {
        int quad = 0;
        std::memcpy(&quad, row + at, sizeof quad);
        const __m512i all = _mm512_set1_epi32(quad);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) to[v] = _mm512_dpbusd_epi32(to[v], all, by[v]);
      };
      add(r0, sum[0]);
      add(r1, sum[1]);
      add(r2, sum[2]);
      add(r3, sum[3]);
      add(r4, sum[4]);
      add(r5, sum[5]);
    }
  }
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t v = 0; v < kVectors; ++v) {
      _mm512_store_si512(sums + (r * kVectors + v) * kLanes, sum[r][v]);
    }
  }
}

using Multiply = void (*)(const Rows&, const int8_t*, int32_t*);
constexpr Multiply kMultiply[kMostVectors] = {multiply<1>, multiply<2>, multiply<3>, multiply<4>};

// Sets `offsets` to what the offset of the unsigned operand adds to each column. That is the
// product of `panel` with a row of nothing but offsets, of `runs` runs of `quads` quads.
inline void multiply_offsets(const Panel& of, const int8_t* panel, int64_t runs, int64_t quads,
                             int32_t* offsets) {
  const std::vector<uint8_t> zeros(static_cast<size_t>(quads * kQuad), uint8_t{kOffset});
  const std::vector<int64_t> same(static_cast<size_t>(runs), 0);
  const auto sums = allocate<int32_t>(kTileSums);
  Rows rows{{}, same.data(), runs, quads};
  std::ranges::fill(rows.row, zeros.data());
  kMultiply[of.vectors - 1](rows, panel, sums.get());
  std::copy_n(sums.get(), of.width(), offsets + of.first);
}

// 0, step, 2 step, ... for gathers and scatters.
APPROX_INLINE inline __m512i steps_of(int64_t step) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(step)));
}

APPROX_INLINE inline __mmask16 first_lanes(int64_t count) {
  return count >= kLanes ? __mmask16{0xFFFF} : static_cast<__mmask16>((1U << count) - 1);
}

// Sixteen numbers as float, the lanes outside of `lanes` as zero.
APPROX_INLINE inline __m512 load(const float* from, __mmask16 lanes) {
  return _mm512_maskz_loadu_ps(lanes, from);
}
APPROX_INLINE inline __m512 load(const BFloat16* from, __mmask16 lanes) {
  const __m256i half = _mm256_maskz_loadu_epi16(lanes, from);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

APPROX_INLINE inline void store(__m512 v, __mmask16 lanes, float* to) {
  _mm512_mask_storeu_ps(to, lanes, v);
}
// Rounded to nearest, ties to even; a NaN becomes a quiet NaN.
APPROX_INLINE inline void store(__m512 v, __mmask16 lanes, BFloat16* to) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __mmask16 no_number = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  const __m512i half =
      _mm512_mask_mov_epi32(_mm512_srli_epi32(up, 16), no_number, _mm512_set1_epi32(0x7FC0));
  _mm256_mask_storeu_epi16(to, lanes, _mm512_cvtepi32_epi16(half));
}

APPROX_INLINE inline __m512i magnitude_bits(__m512 v) {
  return _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7FFFFFFF));
}

// The largest magnitude of `count` numbers, as approx::magnitude_bits.
template <typename Real>
uint32_t largest_of(const Real* from, int64_t count) {
  __m512i largest[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    for (int64_t v = 0; v < 4; ++v) {
      largest[v] =
          _mm512_max_epu32(largest[v], magnitude_bits(load(from + i + v * kLanes, 0xFFFF)));
    }
  }
  for (; i < count; i += kLanes) {
    largest[0] =
        _mm512_max_epu32(largest[0], magnitude_bits(load(from + i, first_lanes(count - i))));
  }
  return _mm512_reduce_max_epu32(_mm512_max_epu32(_mm512_max_epu32(largest[0], largest[1]),
                                                  _mm512_max_epu32(largest[2], largest[3])));
}

// Raises largest[c] to the largest magnitude of column c of from [rows][columns].
template <typename Real>
void raise_to_columns(const Real* from, int64_t rows, int64_t columns, uint32_t* largest) {
  for (int64_t c = 0; c < columns; c += kLanes) {
    const __mmask16 lanes = first_lanes(columns - c);
    __m512i most = _mm512_maskz_loadu_epi32(lanes, largest + c);
    for (int64_t row = 0; row < rows; ++row) {
      most = _mm512_max_epu32(most, magnitude_bits(load(from + row * columns + c, lanes)));
    }
    _mm512_mask_storeu_epi32(largest + c, lanes, most);
  }
}

APPROX_INLINE inline __m512i clamped(__m512i whole) {
  return _mm512_max_epi32(_mm512_min_epi32(whole, _mm512_set1_epi32(kLargestInteger)),
                          _mm512_set1_epi32(-kLargestInteger));
}

// rounded_to_nearest of sixteen numbers.
APPROX_INLINE inline __m512i to_nearest(__m512 v, __m512 inverse) {
  const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(v, inverse));
  return _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(inverse, _mm512_setzero_ps(), _CMP_NEQ_OQ),
                                clamped(whole));
}

// rounded_by_chance of sixteen numbers.
APPROX_INLINE inline __m512i by_chance(__m512 v, __m512 inverse, __m512 uniform) {
  __m512 times = _mm512_mul_ps(v, inverse);
  // Otherwise the compiler joins it with the addition, which is then rounded once.
  asm("" : "+v"(times));
  const __m512i whole = _mm512_cvt_roundps_epi32(_mm512_add_ps(times, uniform),
                                                 _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  return _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(inverse, _mm512_setzero_ps(), _CMP_NEQ_OQ),
                                clamped(whole));
}

}  // namespace approx::vnni
HWY_POP_ATTRIBUTES
