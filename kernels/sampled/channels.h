// Takes some channels out of channels-last maps in plain memory into a tensor of their own, and
// puts them back among zeros.
#pragma once

#include <cstdint>

#include "kernels/bfloat16.h"

namespace approx {

// `whole` has `channels` numbers per row. `part` has those that `index` names, in its order.
struct ChannelPart {
  int64_t channels = 0, kept = 0;
  const int64_t* index = nullptr;  // [kept], ascending, none twice
  const float* factor = nullptr;   // [kept]; null: 1
};

// Computes part = whole[:, index] * factor, for rows [begin, end) of both; rounded once.
void take_channels_simd(const ChannelPart& which, const float* whole, float* part, int64_t begin,
                        int64_t end);
void take_channels_simd(const ChannelPart& which, const BFloat16* whole, BFloat16* part,
                        int64_t begin, int64_t end);

// Computes whole[:, index] = part * factor and zero elsewhere, for rows [begin, end) of both.
void put_channels_simd(const ChannelPart& which, const float* part, float* whole, int64_t begin,
                       int64_t end);
void put_channels_simd(const ChannelPart& which, const BFloat16* part, BFloat16* whole,
                       int64_t begin, int64_t end);

// The definitions of both functions, for either type of number.
template <typename Number>
void take_channels_reference(const ChannelPart& which, const Number* whole, Number* part,
                             int64_t begin, int64_t end);
template <typename Number>
void put_channels_reference(const ChannelPart& which, const Number* part, Number* whole,
                            int64_t begin, int64_t end);

// Takes or puts channels on a GPU, for all rows. Results are bit for bit those of the definition.
template <typename Number>
struct MoveChannels {
  ChannelPart which;
  int64_t rows = 0;
  const Number* from = nullptr;  // [rows,channels], or [rows,kept] if it puts
  Number* to = nullptr;          // the other
  bool puts = false;
};

}  // namespace approx
