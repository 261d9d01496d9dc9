// The sizes of a convolution as plain numbers.
#pragma once

#include <array>
#include <cstdint>

namespace approx {

// One number for each direction of a map: down and across. A single number sets both.
struct Spatial {
  int64_t h = 0, w = 0;

  constexpr Spatial(int64_t both) : h(both), w(both) {}  // NOLINT(google-explicit-constructor)
  constexpr Spatial(int64_t down, int64_t across) : h(down), w(across) {}

  constexpr std::array<int64_t, 2> both() const { return {h, w}; }
  friend constexpr bool operator==(const Spatial&, const Spatial&) = default;
};

struct Geometry {
  Spatial stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
};

// The number of outputs of a convolution along one direction of `in` pixels.
constexpr int64_t output_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                              int64_t dilation = 1) {
  return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

// The output sizes in both directions for a map of `in` pixels and a kernel.
constexpr Spatial output_size(Spatial in, Spatial kernel, const Geometry& g) {
  return {output_size(in.h, kernel.h, g.stride.h, g.padding.h, g.dilation.h),
          output_size(in.w, kernel.w, g.stride.w, g.padding.w, g.dilation.w)};
}

}  // namespace approx
