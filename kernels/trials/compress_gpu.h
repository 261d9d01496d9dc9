// Chooses two of every four channels of dY and stores them for sparse tensor cores.
#pragma once

#include "kernels/select/nm_gpu.h"
#include "kernels/trials/two_of_four.h"

namespace approx {

// The stored form of four channels.
struct TwoStored {
  float first, second;
  uint32_t places;  // four bits
};

// At most two of them are kept.
APPROX_GPU TwoStored two_stored(const FourKept& kept) {
  const bool* stays = kept.stays;
  const float* left = kept.left.v;
  const uint32_t first = stays[0] ? 0 : stays[1] ? 1 : 2;
  const uint32_t second = stays[3] ? 3 : stays[2] && first != 2 ? 2 : first + 1;
  return {.first = first == 0   ? left[0]
                   : first == 1 ? left[1]
                                : left[2],
          .second = second == 1   ? left[1]
                    : second == 2 ? left[2]
                                  : left[3],
          .places = first | second << 2};
}

// Each thread has eight neighbouring channels in registers, whose places are half a word. Groups
// have two or four channels.
template <typename Fours>
struct CompressTwoOfFour {
  static constexpr int kMostThreads = Fours::kMostThreads, kWidth = Fours::kWidth;
  static constexpr int kLeastBlocks = kMostThreads == 512 ? 2 : 1;
  using Number = typename Fours::Number;
  Fours fours;
  Number* stored = nullptr;
  uint16_t* places = nullptr;

  Grid grid() const { return fours.grid(); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    fours.for_kept(thread, [&](int64_t at, const Kept<kWidth>& kept) {
      const TwoStored low = two_stored(kept.four[0]), high = two_stored(kept.four[1]);
      store<4>(stored + at / 2, Floats<4>{{low.first, low.second, high.first, high.second}});
      // (The lower half of a word comes first in memory.)
      reinterpret_cast<uint8_t*>(places)[at / kWidth] =
          static_cast<uint8_t>(low.places | high.places << 4);
    });
  }
};

// Calls run(kernel) with the suitable kernel.
template <typename Number, typename Run>
void with_compress_kernel(const CompressArgs<Number>& on, Run run,
                          int64_t most_blocks = kMostListBlocks) {
  const auto compress = [&](const auto& fours) {
    run(CompressTwoOfFour{fours, on.stored, on.places});
  };
  if (on.args.m == 2) {
    return with_fours<2, 8, 8>(on.args, on.images, on.rescale_plane, most_blocks, compress);
  }
  with_fours<4, 8, 8>(on.args, on.images, on.rescale_plane, most_blocks, compress);
}

}  // namespace approx
