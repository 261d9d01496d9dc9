// N:M pruning on a GPU, in one pass over dY.
#pragma once

#include <cmath>

#include "kernels/gpu/planes.h"
#include "kernels/gpu/sums.h"
#include "kernels/select/pruned.h"

namespace approx {

// The order of keys as whole numbers: by magnitude, and a NaN before everything, all alike.
APPROX_GPU uint32_t nm_key(float value) {
  const uint32_t bits = bits_of(value) & 0x7FFFFFFFu;
  return bits > 0x7F800001u ? 0x7F800001u : bits;
}

// What a thread has of the planes of its channels: sums of magnitudes before and after.
template <int kWidth>
using PlaneSums = TwoSums<float, kWidth>;

template <int kWidth>
APPROX_GPU float rescaling_of(const PlaneSums<kWidth>& sums, int i) {
  return rescaling_factor(sums.first[i], sums.second[i]);
}

// Four neighbouring channels of a pixel.
struct FourKept {
  Floats<4> left;  // what does not stay is zero
  bool stays[4];
};

// Whole groups of kM; the first of the four is element `first` of dY.
template <int kM, typename Number>
APPROX_GPU FourKept kept_of_four(const NmArgs<Number>& a, const Floats<4>& values, int64_t first) {
  uint32_t key[4];
  if (a.random) {
    const auto words = a.rng.block(static_cast<uint32_t>(first / 4));
    for (int i = 0; i < 4; ++i) key[i] = bits_of(Rng::uniform(words[static_cast<size_t>(i)]));
  } else {
    for (int i = 0; i < 4; ++i) key[i] = nm_key(values.v[i]);
  }
  FourKept kept;
  for (int group = 0; group < 4; group += kM) {
    float whole = 0, rest = 0;
    for (int i = group; i < group + kM; ++i) {
      int before = 0;
      for (int j = group; j < group + kM; ++j) {
        before += key[j] > key[i] || (key[j] == key[i] && j < i) ? 1 : 0;
      }
      kept.stays[i] = before < a.n;
      kept.left.v[i] = kept.stays[i] ? values.v[i] : 0.0f;
      whole += std::fabs(values.v[i]);
      rest += std::fabs(kept.left.v[i]);
    }
    for (int i = group; a.rescale_group && i < group + kM; ++i) {
      kept.left.v[i] *= rescaling_factor(whole, rest);
    }
  }
  return kept;
}

// Groups of two or four: a thread has four neighbouring channels of its pixels in registers. Where
// planes are rescaled the block, which has all of their pixels, reads again what it has written,
// while it is in the caches. kM divides four, and four the channels.
template <typename Number, int kM>
struct NmPruneFours {
  static constexpr int kMostThreads = 256;
  NmOnGpu<Number> on;

  constexpr PlaneBlocks blocks() const {
    return {on.images, on.args.pixels / on.images, on.args.channels / 4, kMostThreads};
  }
  Grid grid() const { return blocks().grid(sizeof(PlaneSums<4>)); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NmArgs<Number>& a = on.args;
    const PlaneThread at(blocks(), thread);
    const int64_t plane = blocks().plane, channel = at.vector * 4;
    const int64_t image = thread.block_x() * plane * a.channels + channel;
    const bool is_one = channel < a.channels;
    PlaneSums<4> sums;
    sums.clear();
    int64_t kept = 0;
    for (int64_t pixel = at.part; is_one && pixel < plane; pixel += at.parts) {
      const int64_t first = image + pixel * a.channels;
      const Floats<4> values = load<4>(a.dy + first);
      const Floats<4> left = kept_of_four<kM>(a, values, first).left;
      for (int i = 0; i < 4; ++i) {
        sums.first[i] += std::fabs(values.v[i]);
        sums.second[i] += std::fabs(left.v[i]);
        kept += left.v[i] != 0 ? 1 : 0;
      }
      store<4>(a.pruned + first, left);
    }
    if (on.rescale_plane) {
      auto* all = thread.template shared<PlaneSums<4>>();
      all[thread.index()] = sums;
      join_parts(thread, at, all,
                 [](PlaneSums<4>& mine, const PlaneSums<4>& other) { mine.add(other); });
      thread.barrier();
      for (int64_t pixel = at.part; is_one && pixel < plane; pixel += at.parts) {
        const int64_t first = image + pixel * a.channels;
        Floats<4> left = load<4>(a.pruned + first);
        for (int i = 0; i < 4; ++i) left.v[i] *= rescaling_of(all[at.column], i);
        store<4>(a.pruned + first, left);
      }
      thread.barrier();  // the sums have been read
    }
    const int64_t all_kept = sum_of_block(thread, kept, thread.template shared<int64_t>());
    if (thread.index() == 0) thread.add(on.kept, all_kept);
  }
};

// Groups of eight, sixteen or all thirty-two lanes of a warp: a lane has one channel of its warp's
// pixels, and sees the others of its group by shuffles. m divides the channels.
template <typename Number>
struct NmPruneLanes {
  static constexpr int kMostThreads = 256;
  NmOnGpu<Number> on;

  // A warp lies along the channels, however few there are.
  constexpr PlaneBlocks blocks() const {
    return {on.images, on.args.pixels / on.images, on.args.channels, kMostThreads, kWarp};
  }
  Grid grid() const { return blocks().grid(sizeof(PlaneSums<1>)); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const NmArgs<Number>& a = on.args;
    const PlaneThread own(blocks(), thread);
    const int64_t plane = blocks().plane, channel = own.vector;
    const int64_t image = thread.block_x() * plane * a.channels + channel;
    const bool is_one = channel < a.channels;
    PlaneSums<1> sums;
    sums.clear();
    int64_t kept = 0;
    for (int64_t pixel = own.part; pixel < plane; pixel += own.parts) {
      const int64_t at = image + pixel * a.channels;
      const float value = is_one ? static_cast<float>(a.dy[at]) : 0.0f;
      const float left = pruned(thread, own.column, value, at);
      sums.first[0] += std::fabs(value);
      sums.second[0] += std::fabs(left);
      kept += left != 0 ? 1 : 0;
      if (is_one) a.pruned[at] = Number(left);
    }
    if (on.rescale_plane) {
      auto* all = thread.template shared<PlaneSums<1>>();
      all[thread.index()] = sums;
      join_parts(thread, own, all,
                 [](PlaneSums<1>& mine, const PlaneSums<1>& other) { mine.add(other); });
      thread.barrier();
      for (int64_t pixel = own.part; is_one && pixel < plane; pixel += own.parts) {
        Number& left = a.pruned[image + pixel * a.channels];
        left = Number(static_cast<float>(left) * rescaling_of(all[own.column], 0));
      }
      thread.barrier();  // the sums have been read
    }
    const int64_t all_kept = sum_of_block(thread, kept, thread.template shared<int64_t>());
    if (thread.index() == 0) thread.add(on.kept, all_kept);
  }

 private:
  // All lanes of the warp take part.
  template <typename Thread>
  APPROX_GPU float pruned(Thread& thread, int lane, float value, int64_t at) const {
    const NmArgs<Number>& a = on.args;
    const int m = static_cast<int>(a.m), first = lane / m * m;
    uint32_t key = nm_key(value);
    if (a.random) {
      key = bits_of(
          Rng::uniform(a.rng.block(static_cast<uint32_t>(at / 4))[static_cast<size_t>(at % 4)]));
    }
    int before = 0;
    float whole = 0, rest = 0;
    for (int j = first; j < first + m; ++j) {
      const uint32_t other = thread.shuffle(key, j);
      before += other > key || (other == key && j < lane) ? 1 : 0;
    }
    float left = before < a.n ? value : 0.0f;
    if (a.rescale_group) {
      for (int j = first; j < first + m; ++j) {
        whole += std::fabs(thread.shuffle(value, j));
        rest += std::fabs(thread.shuffle(left, j));
      }
      left *= rescaling_factor(whole, rest);
    }
    return left;
  }
};

}  // namespace approx
