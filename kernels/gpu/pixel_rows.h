// How threads lie over a matrix of pixels, and how a warp lies over short rows.
#pragma once

#include "kernels/gpu/kernel.h"

namespace approx {

// Over [pixels,vectors]: the lanes along the vectors of a pixel first, so that a warp reads what is
// side by side; what is left of the threads has further pixels.
struct PixelVectors {
  static constexpr int kThreads = 256;
  int64_t pixels = 0, vectors = 0;

  // Vectors side by side in a block, a power of two.
  constexpr int columns() const {
    return static_cast<int>(power_of_two_from(vectors < kWarp ? vectors : kWarp));
  }
  constexpr Grid grid() const {
    return {.x = blocks_of(pixels, kThreads / columns()),
            .y = blocks_of(vectors, columns()),
            .threads = kThreads};
  }

  // Of a thread; either may be beyond the last.
  template <typename Thread>
  APPROX_GPU int64_t pixel(const Thread& thread) const {
    return thread.block_x() * (kThreads / columns()) + thread.index() / columns();
  }
  template <typename Thread>
  APPROX_GPU int64_t vector(const Thread& thread) const {
    return thread.block_y() * columns() + thread.index() % columns();
  }
};

// Warps over [rows,items], all items of a row one after the other: of short rows a warp has
// several.
struct WarpRows {
  static constexpr int kThreads = 256;
  int64_t rows = 0, items = 0;

  // Lanes of a row, a power of two.
  constexpr int lanes() const {
    return static_cast<int>(power_of_two_from(items < kWarp ? items : kWarp));
  }
  constexpr Grid grid() const {
    return {.x = blocks_of(rows, kThreads / lanes()), .threads = kThreads};
  }
};

// Where a thread of such warps is.
struct WarpRow {
  int across;   // lanes of a row
  int lane;     // of the row
  int first;    // lane of the warp that the row begins with
  int64_t row;  // may be beyond the last

  template <typename Thread>
  APPROX_GPU WarpRow(const WarpRows& rows, const Thread& thread)
      : across(rows.lanes()),
        lane(thread.index() % across),
        first(thread.index() % kWarp - lane),
        row((thread.block_x() * WarpRows::kThreads + thread.index()) / across) {}

  // What the lanes of this row voted: its first lane is bit 0.
  APPROX_GPU uint32_t own(uint32_t ballot) const {
    return (ballot >> first) & (0xFFFFFFFFu >> (kWarp - across));
  }
};

}  // namespace approx
