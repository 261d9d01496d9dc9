// The data gradient of a pruned dY on a GPU by tiles. Tiles that are all zero are skipped.
#pragma once

#include "kernels/pruned_dy/gradient_rows_gpu.h"

namespace approx {

// Writes a bit for each tile of channels of every row: whether one of them is nonzero. Each thread
// has a tile. kWidth channels are read at a time; kWidth divides the channels of a group.
template <typename Number, int kWidth>
struct MarkTiles {
  static constexpr int kMostThreads = WarpRows::kThreads;
  Problem problem;
  const Number* dy = nullptr;  // [rows,channels]
  uint32_t* marks = nullptr;   // [rows,words]

  constexpr WarpRows rows() const { return {gradient_rows(problem), gradient_tiles(problem)}; }
  Grid grid() const { return rows().grid(); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const WarpRow at(rows(), thread);
    const int64_t channels = gradient_channels(problem), words = blocks_of(rows().items, kWarp);
    const bool is_row = at.row < rows().rows;
    for (int64_t word = 0; word < words; ++word) {
      const int64_t first = (word * kWarp + at.lane) * kTileChannels;
      bool is_full = false;
      for (int c = 0; c < kTileChannels; c += kWidth) {
        if (!is_row || first + c >= channels) continue;
        const auto values = load_constant<kWidth>(dy + at.row * channels + first + c);
        for (int k = 0; k < kWidth; ++k) is_full = is_full || values.v[k] != 0;
      }
      const uint32_t marked = at.own(thread.ballot(is_full));
      if (is_row && at.lane == 0) marks[at.row * words + word] = marked;
    }
  }
};

// Each thread sums kWidth neighbouring input channels of kTilePixels pixels of dX in its registers,
// in float. So a vector of weights that it has read serves all these pixels. For each tap they need
// equally many pixels of dY, whose marks are combined. Tiles of these pixels and kTileChannels
// channels are skipped if they are all zero. They may be anywhere, so strides need not fit a grid
// of tiles. kWidth divides both channels of a group.
template <typename Number, int kWidth>
struct TilesDataGradient {
  static constexpr int kMostThreads = PixelVectors::kThreads, kTilePixels = 8;
  Arguments<PrunedDY, Number> args;
  const uint32_t* marks = nullptr;  // from MarkTiles

  constexpr int64_t pixels() const { return args.problem.n * args.problem.h * args.problem.w; }
  constexpr PixelVectors vectors() const {
    return {blocks_of(pixels(), kTilePixels), args.problem.ci / kWidth};
  }
  Grid grid() const { return vectors().grid(); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const Problem& p = args.problem;
    const int64_t tile = vectors().pixel(thread), vector = vectors().vector(thread);
    if (tile >= vectors().pixels || vector >= vectors().vectors) return;
    const int64_t inputs = p.group_inputs(), outputs = gradient_channels(p);
    const auto group = static_cast<int32_t>(vector / (inputs / kWidth));
    const int64_t i = vector % (inputs / kWidth) * kWidth;
    const Number* w = args.w + group * outputs * p.kh * p.kw * inputs + i;
    const MetRows rows(p);
    MetRows::Place at[kTilePixels];
    APPROX_UNROLL(kTilePixels)
    for (int t = 0; t < kTilePixels; ++t) {
      const int64_t pixel = tile * kTilePixels + t;
      at[t] = pixel < pixels() ? rows.place(pixel) : MetRows::nowhere();
    }
    const auto taps = static_cast<int32_t>(p.kh * p.kw);
    Sums sums{};
    for (int32_t tap = 0; tap < taps; ++tap) {
      int32_t row[kTilePixels];
      APPROX_UNROLL(kTilePixels)
      for (int t = 0; t < kTilePixels; ++t) row[t] = rows.row(at[t], tap, group);
      add(row, w + tap * inputs, sums);
    }
    APPROX_UNROLL(kTilePixels)
    for (int t = 0; t < kTilePixels; ++t) {
      const int64_t pixel = tile * kTilePixels + t;
      if (pixel < pixels()) store<kWidth>(args.out + pixel * p.ci + vector * kWidth, sums.of[t]);
    }
  }

 private:
  struct Sums {
    Floats<kWidth> of[kTilePixels];
  };

  // Adds the contribution of one tap.
  APPROX_GPU void add(const int32_t* row, const Number* w, Sums& sums) const {
    const int64_t words = blocks_of(gradient_tiles(args.problem), kWarp);
    for (int64_t word = 0; word < words; ++word) {
      uint32_t marked = 0;
      APPROX_UNROLL(kTilePixels)
      for (int t = 0; t < kTilePixels; ++t) {
        if (row[t] >= 0) marked |= marks[row[t] * words + word];
      }
      for (; marked != 0; marked &= marked - 1) {
        add_tile(row, (word * kWarp + lowest_bit(marked)) * kTileChannels, w, sums);
      }
    }
  }

  APPROX_GPU void add_tile(const int32_t* row, int64_t first, const Number* w, Sums& sums) const {
    const Problem& p = args.problem;
    const int64_t channels = gradient_channels(p), of_channel = p.kh * p.kw * p.group_inputs();
    const int64_t rest = channels - first,
                  end = rest < kTileChannels ? channels : first + kTileChannels;
    for (int64_t c = first; c < end; c += kWidth) {
      Floats<kWidth> dy[kTilePixels];
      APPROX_UNROLL(kTilePixels)
      for (int t = 0; t < kTilePixels; ++t) {
        dy[t] =
            row[t] < 0 ? Floats<kWidth>{} : load_constant<kWidth>(args.dy + row[t] * channels + c);
      }
      APPROX_UNROLL(kWidth)
      for (int k = 0; k < kWidth; ++k) {
        const auto weights = load_constant<kWidth>(w + (c + k) * of_channel);
        APPROX_UNROLL(kTilePixels)
        for (int t = 0; t < kTilePixels; ++t) {
          for (int j = 0; j < kWidth; ++j) sums.of[t].v[j] += dy[t].v[k] * weights.v[j];
        }
      }
    }
  }
};

}  // namespace approx
