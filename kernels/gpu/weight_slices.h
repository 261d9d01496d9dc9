// Sums of a weight gradient on a GPU from listed pixels of dY, shared by the kernels of several
// plans.
#pragma once

#include "kernels/gpu/kernel.h"
#include "products/problem.h"

namespace approx {

// A block has some output channels, and at most 256 vectors of kWidth numbers of their slices of
// dW, [Kh*Kw*Ci/groups]. Each vector is summed in float in the registers of a thread. If a slice is
// small, several parts of the threads share the pixels, and add up their sums at the end. kWidth
// divides the input channels of a group.
template <int kWidth>
struct SliceBlocks {
  static constexpr int kMostThreads = 256, kMostParts = 16;
  int64_t slice = 0;  // numbers in a slice

  constexpr int64_t vectors() const { return slice / kWidth; }
  constexpr int64_t chunks() const { return blocks_of(vectors(), kMostThreads); }
  // Number of vectors of a block.
  constexpr int width() const { return static_cast<int>(blocks_of(vectors(), chunks())); }
  constexpr int parts() const {
    return kMostThreads / width() < kMostParts ? kMostThreads / width() : kMostParts;
  }
  constexpr int threads() const {
    return static_cast<int>(blocks_of(int64_t{width()} * parts(), kWarp) * kWarp);
  }
  // Bytes for the sums of all parts.
  constexpr size_t shared() const {
    return static_cast<size_t>(width()) * static_cast<size_t>(parts()) * sizeof(Floats<kWidth>);
  }
};

// The place of a thread in such a block: it sums input channels of the group from i on, under one
// tap.
template <int kWidth>
struct SliceThread {
  int width, parts;
  int part, lane;
  int64_t vector;        // index in the slice
  bool sums;             // whether it sums: not beyond the last part or vector
  int32_t down, across;  // offset from where the first tap meets x
  int64_t of_x;          // this offset in numbers, plus the channel of the group

  template <typename Thread>
  APPROX_GPU SliceThread(const SliceBlocks<kWidth>& blocks, const Problem& p, const Thread& thread)
      : width(blocks.width()),
        parts(blocks.parts()),
        part(thread.index() / width),
        lane(thread.index() % width),
        vector(thread.block_y() * width + lane),
        sums(part < parts && vector < blocks.vectors()) {
    const int64_t inputs = p.group_inputs() / kWidth, tap = vector / inputs;
    down = static_cast<int32_t>(tap / p.kw * p.geometry.dilation.h);
    across = static_cast<int32_t>(tap % p.kw * p.geometry.dilation.w);
    of_x = (down * p.w + across) * p.ci + vector % inputs * kWidth;
  }
};

// A pixel of dY in the list of a block, with the values of its output channels.
template <int kChannels>
struct ListedPixel {
  int64_t first;  // where the first tap meets x; may be outside the map
  int32_t y, x;   // this place as a pixel
  float value[kChannels];

  // Sets the place from `pixel` of image n.
  APPROX_GPU void place(const Problem& p, int64_t n, int32_t pixel) {
    const auto wo = static_cast<int32_t>(p.wo);
    y = static_cast<int32_t>(pixel / wo * p.geometry.stride.h - p.geometry.padding.h);
    x = static_cast<int32_t>(pixel % wo * p.geometry.stride.w - p.geometry.padding.w);
    first = ((n * p.h + y) * p.w + x) * p.ci;
  }
  // Sets an entry that adds nothing.
  APPROX_GPU void clear() {
    first = 0;
    y = x = INT32_MIN / 2;
    for (int c = 0; c < kChannels; ++c) value[c] = 0;
  }
};

// Adds every parts-th of the listed pixels, from `part` on. x: the first channel of the group.
template <int kWidth, int kChannels, typename Number>
APPROX_GPU void add_listed(const ListedPixel<kChannels>* listed, int count, const Problem& p,
                           const SliceThread<kWidth>& at, const Number* x,
                           Floats<kWidth> (&sum)[kChannels]) {
  const auto h = static_cast<uint32_t>(p.h), w = static_cast<uint32_t>(p.w);
  APPROX_UNROLL(4)
  for (int i = at.part; i < count; i += at.parts) {
    const ListedPixel<kChannels>& one = listed[i];
    // The conversion makes negative values large, so they are beyond the map too.
    if (static_cast<uint32_t>(one.y + at.down) >= h ||
        static_cast<uint32_t>(one.x + at.across) >= w) {
      continue;
    }
    const Floats<kWidth> values = load_constant<kWidth>(x + one.first + at.of_x);
    for (int c = 0; c < kChannels; ++c) {
      for (int k = 0; k < kWidth; ++k) sum[c].v[k] += one.value[c] * values.v[k];
    }
  }
}

// Adds up the sums of the parts for one channel, valid in part 0. `all` holds SliceBlocks::shared()
// bytes, and must not be in use any more.
template <int kWidth, typename Thread>
APPROX_GPU void join_slices(Thread& thread, const SliceThread<kWidth>& at, Floats<kWidth>* all,
                            Floats<kWidth>& sum) {
  if (at.parts == 1) return;
  if (at.sums) all[at.part * at.width + at.lane] = sum;
  thread.barrier();
  if (at.part != 0 || !at.sums) return;
  for (int other = 1; other < at.parts; ++other) {
    for (int k = 0; k < kWidth; ++k) sum.v[k] += all[other * at.width + at.lane].v[k];
  }
}

}  // namespace approx
