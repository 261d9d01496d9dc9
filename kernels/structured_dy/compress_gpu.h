// Choosing two of every four channels of dY and storing them for sparse tensor cores, in one pass.
#pragma once

#include "kernels/select/nm_gpu.h"
#include "kernels/structured_dy/two_of_four.h"

namespace approx {

// What is stored of four channels.
struct TwoStored {
  float first, second;
  uint32_t places;  // four bits
};

// At most two of them stay.
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

// A thread has sixteen neighbouring channels of its pixels in registers, which are one word of
// places. Where planes are rescaled the block, which has all of their pixels, reads again what it
// has written, while it is in the caches. kM is two or four.
template <typename Number, int kM>
struct CompressTwoOfFour {
  static constexpr int kMostThreads = 256;
  static constexpr int kWidth = 16;
  CompressArgs<Number> on;

  constexpr PlaneBlocks blocks() const {
    return {on.images, on.args.pixels / on.images, on.args.channels / kWidth, kMostThreads};
  }
  Grid grid() const { return blocks().grid(sizeof(PlaneSums<kWidth>)); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NmArgs<Number>& a = on.args;
    const PlaneThread at(blocks(), thread);
    const int64_t plane = blocks().plane, channel = at.vector * kWidth;
    const int64_t image = thread.block_x() * plane * a.channels + channel;
    const bool is_one = channel < a.channels;
    PlaneSums<kWidth> sums;
    sums.clear();
    for (int64_t pixel = at.part; is_one && pixel < plane; pixel += at.parts) {
      compress(image + pixel * a.channels, sums);
    }
    if (!on.rescale_plane) return;
    auto* all = thread.template shared<PlaneSums<kWidth>>();
    all[thread.index()] = sums;
    join_parts(thread, at, all,
               [](PlaneSums<kWidth>& mine, const PlaneSums<kWidth>& other) { mine.add(other); });
    // The factors of the channels take the place of their sums.
    float* factors = all[at.column].first;
    if (at.part == 0) {
      for (int i = 0; i < kWidth; ++i) factors[i] = rescaling_of(all[at.column], i);
    }
    thread.barrier();
    for (int64_t pixel = at.part; is_one && pixel < plane; pixel += at.parts) {
      rescale(image + pixel * a.channels, factors);
    }
  }

 private:
  // The sixteen channels from an element of dY on.
  APPROX_GPU void compress(int64_t element, PlaneSums<kWidth>& sums) const {
    Floats<kWidth / 2> stored;
    uint32_t places = 0;
    // (Whole, so that what is indexed stays in registers.)
    APPROX_UNROLL(2)
    for (int half = 0; half < 2; ++half) {
      const Floats<8> values = load<8>(on.args.dy + element + 8 * half);
      APPROX_UNROLL(2)
      for (int four = 0; four < 2; ++four) {
        const int from = 8 * half + 4 * four;
        Floats<4> own;
        for (int i = 0; i < 4; ++i) own.v[i] = values.v[4 * four + i];
        const FourKept kept = kept_of_four<kM>(on.args, own, element + from);
        for (int i = 0; i < 4; ++i) {
          sums.first[from + i] += std::fabs(own.v[i]);
          sums.second[from + i] += std::fabs(kept.left.v[i]);
        }
        const TwoStored two = two_stored(kept);
        stored.v[from / 2] = two.first;
        stored.v[from / 2 + 1] = two.second;
        places |= two.places << from;
      }
    }
    store<kWidth / 2>(on.stored + element / 2, stored);
    on.places[element / kWidth] = static_cast<uint16_t>(places);
  }

  APPROX_GPU void rescale(int64_t element, const float* factors) const {
    Floats<kWidth / 2> stored = load<kWidth / 2>(on.stored + element / 2);
    const uint32_t places = on.places[element / kWidth];
    for (int i = 0; i < kWidth / 2; ++i) {
      stored.v[i] *= factors[i / 2 * 4 + static_cast<int>(places >> 2 * i & 3)];
    }
    store<kWidth / 2>(on.stored + element / 2, stored);
  }
};

}  // namespace approx
