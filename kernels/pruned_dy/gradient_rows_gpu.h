// Shared parts of the GPU kernels for a pruned dY: dY as rows, and the pixels of dY that contribute
// to a pixel of dX.
#pragma once

#include "kernels/gpu/pixel_rows.h"
#include "kernels/pruned_dy/pruned_dy.h"

namespace approx {

// dY as [rows,channels]: a row has the channels of one group of one pixel.
constexpr int64_t gradient_rows(const Problem& p) { return p.n * p.ho * p.wo * p.geometry.groups; }
constexpr int64_t gradient_channels(const Problem& p) { return p.co / p.geometry.groups; }

// Rows and pixels must fit into 32 bits.
inline bool gradient_rows_fit(const Problem& p) {
  constexpr int64_t kMost = int64_t{1} << 31;
  return p.n * p.ho * p.wo * p.ci * p.co > 0 && gradient_rows(p) < kMost && p.n * p.h * p.w < kMost;
}

// The number of channels of a tile, which is skipped if it is all zero; the last tile may be
// smaller.
constexpr int kTileChannels = 8;
constexpr int64_t gradient_tiles(const Problem& p) {
  return blocks_of(gradient_channels(p), kTileChannels);
}

// One direction of the maps, in 32 bits, which a GPU divides faster than 64.
struct MapDirection {
  int32_t padding, dilation, stride, outputs;

  // The output pixel that a tap connects with the input pixel `at`, or -1.
  APPROX_GPU int32_t output_of(int32_t at, int32_t tap) const {
    const int32_t from = at + padding - tap * dilation;
    if (from < 0) return -1;
    if (stride == 1) return from < outputs ? from : -1;
    return from % stride == 0 && from / stride < outputs ? from / stride : -1;
  }
};

// The rows of dY that contribute to the pixels of dX.
struct MetRows {
  MapDirection down, across;
  int32_t h, w, kernel_w, groups;

  explicit APPROX_GPU MetRows(const Problem& p)
      : down{in32(p.geometry.padding.h), in32(p.geometry.dilation.h), in32(p.geometry.stride.h),
             in32(p.ho)},
        across{in32(p.geometry.padding.w), in32(p.geometry.dilation.w), in32(p.geometry.stride.w),
               in32(p.wo)},
        h(in32(p.h)),
        w(in32(p.w)),
        kernel_w(in32(p.kw)),
        groups(in32(p.geometry.groups)) {}

  // A pixel of dX.
  struct Place {
    int32_t image, y, x;
  };
  APPROX_GPU Place place(int64_t pixel) const {
    const auto at = static_cast<int32_t>(pixel);
    return {at / (h * w), at / w % h, at % w};
  }
  // A pixel that no tap connects with anything.
  static APPROX_GPU Place nowhere() { return {0, INT32_MIN / 2, 0}; }

  // The row that the tap connects with the pixel, or -1.
  APPROX_GPU int32_t row(const Place& at, int32_t tap, int32_t group) const {
    const int32_t oy = down.output_of(at.y, tap / kernel_w);
    const int32_t ox = across.output_of(at.x, tap % kernel_w);
    if (oy < 0 || ox < 0) return -1;
    return ((at.image * down.outputs + oy) * across.outputs + ox) * groups + group;
  }

 private:
  static APPROX_GPU int32_t in32(int64_t number) { return static_cast<int32_t>(number); }
};

}  // namespace approx
