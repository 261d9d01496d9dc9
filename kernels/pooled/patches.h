// How a gradient filter cuts a layer into patches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "products/problem.h"

namespace approx {

// One direction of a layer: its outputs in patches of r, and the inputs of each output.
//
// The patches lie centred on the outputs; at the edges they may be smaller. Output j has `stride`
// inputs of its own, from `shift + j * stride` on: those around the centre of what the kernel reads
// there. They are centred too, and some may lie outside the map. Inputs of no output are in no
// patch.
struct Patches {
  int64_t outputs = 0, inputs = 0, stride = 1;
  int64_t r = 1;      // outputs of a whole patch
  int64_t count = 0;  // patches
  int64_t first = 0;  // the output at which patch 0 would begin if it were whole, 0 or less
  int64_t shift = 0;  // the first input of output 0

  constexpr Patches(int64_t outputs_, int64_t inputs_, int64_t stride_, int64_t r_)
      : outputs(outputs_),
        inputs(inputs_),
        stride(stride_),
        r(std::clamp<int64_t>(r_, 1, std::max<int64_t>(outputs_, 1))),
        count((outputs + r - 1) / r),
        first(half(outputs - count * r)),
        shift(half(inputs - outputs * stride)) {}

  // The outputs of patch i.
  constexpr int64_t begin(int64_t i) const { return std::max<int64_t>(first + i * r, 0); }
  constexpr int64_t end(int64_t i) const { return std::min(first + (i + 1) * r, outputs); }

  // The patch of an input; -1: none.
  constexpr int64_t of_input(int64_t input) const {
    if (input < shift) return -1;
    const int64_t output = (input - shift) / stride;
    return output < outputs ? (output - first) / r : -1;
  }

 private:
  // Rounded down, also below zero.
  static constexpr int64_t half(int64_t number) { return (number - (number & 1)) / 2; }
};

// Both directions of a layer.
struct PatchGrid {
  Patches down, across;

  constexpr PatchGrid(const Problem& p, int64_t r)
      : down(p.ho, p.h, p.geometry.stride.h, r), across(p.wo, p.w, p.geometry.stride.w, r) {}

  constexpr int64_t count() const { return down.count * across.count; }
};

}  // namespace approx
