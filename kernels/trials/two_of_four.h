// dY in the format of sparse tensor cores, and its data gradient, on plain pointers to GPU memory.
//
// Two of every four neighbouring channels of a pixel are stored, in order, with their places. The
// places are four bits for each four channels: bits 0 and 1 the place of the first, bits 2 and 3
// that of the second. The bits of sixteen channels form a word, the first channels lowest. If a
// choice keeps fewer than two, a dropped channel is stored as zero.
#pragma once

#include "kernels/select/pruned.h"
#include "products/problem.h"

namespace approx {

// Chooses, rescales and stores in one pass. With rescaling of planes, a second pass rescales the
// stored values. n of m is 2 of 4, 1 of 4 or 1 of 2, and sixteen divides the channels.
template <typename Number>
struct CompressArgs {
  NmArgs<Number> args;         // its `pruned` is not written
  int64_t images = 1;          // images that the pixels belong to
  bool rescale_plane = false;  // multiply kept entries of a plane by sum|plane| / sum|kept|
  Number* stored = nullptr;    // [pixels,channels/2]
  uint16_t* places = nullptr;  // [pixels,channels/16]
};

// The data gradient of a dY that is stored so. One group; 64 divides the channels of dY, and eight
// those of x. All arrays are aligned to sixteen bytes.
template <typename Number>
struct SparseGradientArgs {
  Problem problem;
  const Number* stored = nullptr;    // [N,Ho,Wo,Co/2]
  const uint16_t* places = nullptr;  // [N,Ho,Wo,Co/16]
  const Number* w = nullptr;         // [Co,Kh,Kw,Ci]
  Number* out = nullptr;             // [N,H,W,Ci]
};

// Whether both kernels support such a problem and plan.
constexpr bool takes_two_of_four(const Problem& p) {
  constexpr int64_t kOutputs = 64, kInputs = 8;
  const bool halved = (p.group == 2 || p.group == 4) && p.density <= 0.5;
  const bool is_half = p.element == ElementType::kBFloat16 || p.element == ElementType::kHalf;
  return p.product == Product::kDataGradient && is_half && halved && p.one_group() &&
         p.co % kOutputs == 0 && p.ci % kInputs == 0;
}

}  // namespace approx
