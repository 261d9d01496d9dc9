// Lists of the entries of a dY in bfloat16 by output channel, for kernels/pruned_dy/bf16_pairs.h.
// dY lies by pixel. Squares of it are transposed in registers, and the part of each channel is
// compacted without a branch.
#pragma once

#include <algorithm>

#include "kernels/pruned_dy/bf16_pairs.h"

namespace approx {

// The entries of one tile. The list of channel c begins at c * room and has an even length.
struct TileLists {
  uint16_t *value, *place;
  int32_t* end;  // of each channel's list
  int64_t room;
};

// Memory for the lists of several tiles.
class ChannelLists {
 public:
  ChannelLists(int64_t tiles, int64_t channels, int64_t pixels)
      : channels_(channels),
        // The last store and the last read may go past the end.
        room_((pixels + kPart + 3) / 2 * 2),
        values_(allocate_numbers<uint16_t>(tiles * channels * room_)),
        places_(allocate_numbers<uint16_t>(tiles * channels * room_)),
        ends_(allocate_numbers<int32_t>(tiles * channels)) {}

  TileLists tile(int64_t index) const {
    const int64_t at = index * channels_ * room_;
    return {values_.get() + at, places_.get() + at, ends_.get() + index * channels_, room_};
  }

 private:
  int64_t channels_, room_;
  AlignedNumbers<uint16_t> values_, places_;
  AlignedNumbers<int32_t> ends_;
};

}  // namespace approx

HWY_PUSH_ATTRIBUTES(APPROX_PAIRS_TARGET)
namespace approx {

// Transposes 16 x 16 numbers of 32 bits. (It uses masks of ones: without a mask, g++ 12 warns about
// an uninitialised number in its own header.)
APPROX_INLINE inline void turn_square(__m512i (&row)[16]) {
  constexpr __mmask16 kAll = 0xFFFF;
  constexpr __mmask8 kHalves = 0xFF;
  __m512i t[16];
  unrolled_pairs<8>([&](auto i) APPROX_INLINE {
    t[2 * i] = _mm512_maskz_unpacklo_epi32(kAll, row[2 * i], row[2 * i + 1]);
    t[2 * i + 1] = _mm512_maskz_unpackhi_epi32(kAll, row[2 * i], row[2 * i + 1]);
  });
  unrolled_pairs<8>([&](auto i) APPROX_INLINE {
    constexpr int from = i / 2 * 4 + i % 2;
    row[i * 2] = _mm512_maskz_unpacklo_epi64(kHalves, t[from], t[from + 2]);
    row[i * 2 + 1] = _mm512_maskz_unpackhi_epi64(kHalves, t[from], t[from + 2]);
  });
  // Quarters of vectors: those with even numbers go to t[0..4) and t[4..8), the others after them.
  unrolled_pairs<8>([&](auto i) APPROX_INLINE {
    constexpr int from = i / 4 * 8 + i % 4;
    t[i] = _mm512_maskz_shuffle_i32x4(kAll, row[from], row[from + 4], 0x88);
    t[8 + i] = _mm512_maskz_shuffle_i32x4(kAll, row[from], row[from + 4], 0xDD);
  });
  unrolled_pairs<4>([&](auto i) APPROX_INLINE {
    row[i] = _mm512_maskz_shuffle_i32x4(kAll, t[i], t[4 + i], 0x88);
    row[8 + i] = _mm512_maskz_shuffle_i32x4(kAll, t[i], t[4 + i], 0xDD);
    row[4 + i] = _mm512_maskz_shuffle_i32x4(kAll, t[8 + i], t[12 + i], 0x88);
    row[12 + i] = _mm512_maskz_shuffle_i32x4(kAll, t[8 + i], t[12 + i], 0xDD);
  });
}

constexpr int64_t kSquare = 16;  // channels that are transposed together

// Appends the entries of up to kSquare channels at up to kPart pixels of dY to the lists of their
// channels. Pixels lie `step` numbers apart.
APPROX_INLINE inline void append_square(const uint16_t* dy, int64_t step, int64_t pixels,
                                        int64_t channels, __m512i places, int64_t first_channel,
                                        const TileLists& lists) {
  const auto inside = static_cast<__mmask16>((1 << channels) - 1);
  // The numbers of two pixels in pairs.
  const __m512i by_twos =
      _mm512_add_epi16(_mm512_srli_epi16(lane_numbers(), 1), _mm512_set1_epi32(kPart << 16));
  const auto load = [&](int64_t pixel) APPROX_INLINE {
    return _mm512_castsi256_si512(_mm256_maskz_loadu_epi16(inside, dy + pixel * step));
  };
  __m512i square[kSquare];
  if (pixels >= kPart) {
    unrolled_pairs<kSquare>([&](auto i) APPROX_INLINE {
      square[i] = _mm512_permutex2var_epi16(load(2 * i), by_twos, load(2 * i + 1));
    });
  } else {
    for (int64_t i = 0; i < kSquare; ++i) {
      const __m512i none = _mm512_setzero_si512();
      const __m512i even = 2 * i < pixels ? load(2 * i) : none;
      const __m512i odd = 2 * i + 1 < pixels ? load(2 * i + 1) : none;
      square[i] = _mm512_permutex2var_epi16(even, by_twos, odd);
    }
  }
  turn_square(square);
  int32_t* ends = lists.end + first_channel;
  uint16_t* value = lists.value + first_channel * lists.room;
  uint16_t* place = lists.place + first_channel * lists.room;
  unrolled_pairs<kSquare>([&](auto c) APPROX_INLINE {
    if (c >= channels) return;
    const int64_t at = c * lists.room + ends[c];
    ends[c] += static_cast<int32_t>(store_entries(square[c], places, value + at, place + at));
  });
}

// Lists the entries of `pixels` neighbouring pixels of dY, [pixel][channel]. `places` gives the
// place of each pixel, and can be read one vector past the end.
inline void append_pixels(const uint16_t* dy, int64_t pixels, int64_t channels,
                          const uint16_t* places, const TileLists& lists) {
  std::fill_n(lists.end, channels, 0);
  // Few enough channels that the ends of their lists stay in the cache.
  constexpr int64_t kAtOnce = 8 * kSquare;
  for (int64_t c = 0; c < channels; c += kAtOnce) {
    const int64_t last = std::min(c + kAtOnce, channels);
    for (int64_t pixel = 0; pixel < pixels; pixel += kPart) {
      const __m512i place = _mm512_loadu_si512(places + pixel);
      for (int64_t of = c; of < last; of += kSquare) {
        append_square(dy + pixel * channels + of, channels, pixels - pixel,
                      std::min(kSquare, last - of), place, of, lists);
      }
    }
  }
}

// Pairs an odd entry with a zero at the place `zeros`, where X is zero. At any other place, 0 * inf
// would give a NaN.
inline void pair_odd_entries(int64_t channels, uint16_t zeros, const TileLists& lists) {
  for (int64_t c = 0; c < channels; ++c) {
    if (lists.end[c] % 2 == 0) continue;
    const int64_t at = c * lists.room + lists.end[c]++;
    lists.value[at] = 0;
    lists.place[at] = zeros;
  }
}

}  // namespace approx
HWY_POP_ATTRIBUTES
