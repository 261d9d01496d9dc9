// Assigns threads to a matrix of pixels, and warps to short rows.
#pragma once

#include "kernels/gpu/kernel.h"

namespace approx {

// Assigns threads to [pixels,vectors]: lanes go along the vectors of a pixel first, so that a warp
// reads neighbouring memory. The remaining threads take further pixels.
struct PixelVectors {
  static constexpr int kThreads = 256;
  int64_t pixels = 0, vectors = 0;

  // Number of vectors side by side in a block, a power of two.
  constexpr int columns() const {
    return static_cast<int>(power_of_two_from(vectors < kWarp ? vectors : kWarp));
  }
  constexpr Grid grid() const {
    return {.x = blocks_of(pixels, kThreads / columns()),
            .y = blocks_of(vectors, columns()),
            .threads = kThreads};
  }

  // The pixel and the vector of a thread; either may be beyond the last.
  template <typename Thread>
  APPROX_GPU int64_t pixel(const Thread& thread) const {
    return thread.block_x() * (kThreads / columns()) + thread.index() / columns();
  }
  template <typename Thread>
  APPROX_GPU int64_t vector(const Thread& thread) const {
    return thread.block_y() * columns() + thread.index() % columns();
  }
};

// Assigns warps to [rows,items], with the items of a row one after the other. A warp takes several
// short rows.
struct WarpRows {
  static constexpr int kThreads = 256;
  int64_t rows = 0, items = 0;

  // Number of lanes for a row, a power of two.
  constexpr int lanes() const {
    return static_cast<int>(power_of_two_from(items < kWarp ? items : kWarp));
  }
  constexpr Grid grid() const {
    return {.x = blocks_of(rows, kThreads / lanes()), .threads = kThreads};
  }
};

// The place of a thread in such warps.
struct WarpRow {
  int across;   // number of lanes for a row
  int lane;     // lane within the row
  int first;    // lane of the warp with which the row begins
  int64_t row;  // may be beyond the last

  template <typename Thread>
  APPROX_GPU WarpRow(const WarpRows& rows, const Thread& thread)
      : across(rows.lanes()),
        lane(thread.index() % across),
        first(thread.index() % kWarp - lane),
        row((thread.block_x() * WarpRows::kThreads + thread.index()) / across) {}

  // The votes of the lanes of this row; its first lane is bit 0.
  APPROX_GPU uint32_t own(uint32_t ballot) const {
    return (ballot >> first) & (0xFFFFFFFFu >> (kWarp - across));
  }
};

}  // namespace approx
