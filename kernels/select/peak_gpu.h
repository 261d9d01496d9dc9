// The position that stands for a plane of dY, on a GPU.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/gpu/kernel.h"
#include "kernels/select/peak.h"

namespace approx {

// A block reads the planes of up to 32 x kWidth neighbouring channels of an image once: the lanes
// of a warp lie along the channels first, and what is left of the threads shares the pixels. Each
// keeps its own peak and sum; halves of the threads then hand theirs to the other half, in an order
// that depends on the shape alone. kWidth divides the channels.
template <int kWidth>
struct PlanePeak {
  static constexpr int kMostThreads = 512;
  PeakArgs args;

  // Vectors of channels side by side in a block, a power of two.
  APPROX_GPU int columns() const {
    const int64_t vectors = args.co / kWidth;
    int columns = 1;
    while (columns < kWarp && columns < vectors) columns *= 2;
    return columns;
  }

  Grid grid() const {
    // No more threads than there are pixels for.
    const int64_t enough = columns() * power_of_two_from(args.plane);
    const int threads = static_cast<int>(std::clamp<int64_t>(enough, kWarp, kMostThreads));
    return {.x = args.n,
            .y = blocks_of(args.co / kWidth, columns()),
            .threads = threads,
            .shared = static_cast<size_t>(threads) * sizeof(Peaks)};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const int across = columns(), column = thread.index() % across;
    const int part = thread.index() / across, parts = thread.threads() / across;
    const int64_t channel = (thread.block_y() * across + column) * kWidth;
    const bool is_one = channel < args.co;
    Peaks own;
    for (int i = 0; i < kWidth; ++i) own.size[i] = kNothing, own.at[i] = kNowhere, own.sum[i] = 0;
    if (is_one) {
      const float* image = args.dy + thread.block_x() * args.plane * args.co + channel;
      APPROX_UNROLL(4)
      for (int64_t pixel = part; pixel < args.plane; pixel += parts) {
        const Floats<kWidth> values = load_constant<kWidth>(image + pixel * args.co);
        for (int i = 0; i < kWidth; ++i) {
          own.sum[i] += values.v[i];
          take(own, i, size_of(values.v[i], pixel), static_cast<int32_t>(pixel));
        }
      }
    }
    Peaks* all = thread.template shared<Peaks>();
    all[thread.index()] = own;
    for (int half = parts / 2; half > 0; half /= 2) {
      thread.barrier();
      if (part >= half) continue;
      Peaks& mine = all[thread.index()];
      const Peaks& other = all[thread.index() + half * across];
      for (int i = 0; i < kWidth; ++i) {
        mine.sum[i] += other.sum[i];
        take(mine, i, other.size[i], other.at[i]);
      }
    }
    if (part != 0 || !is_one) return;
    for (int i = 0; i < kWidth; ++i) {
      const int64_t plane = thread.block_x() * args.co + channel + i;
      // (The definition says 0 of a plane without pixels too.)
      args.position[plane] = args.plane == 0 ? 0 : all[thread.index()].at[i];
      args.sum[plane] = all[thread.index()].sum[i];
    }
  }

 private:
  struct Peaks {
    float size[kWidth];  // the largest magnitude so far
    int32_t at[kWidth];  // the first pixel that has it
    float sum[kWidth];
  };
  static constexpr float kNothing = -2;
  static constexpr int32_t kNowhere = INT32_MAX;

  // A magnitude such that the definition's comparisons, which begin at pixel 0 and are false for a
  // NaN, come out in any order: a NaN is below all numbers, but at pixel 0 it is never replaced.
  static APPROX_GPU float size_of(float value, int64_t pixel) {
    if (value == value) return value < 0 ? -value : value;
    return pixel == 0 ? INFINITY : -1.0f;
  }

  static APPROX_GPU void take(Peaks& peaks, int i, float size, int32_t at) {
    if (size < peaks.size[i] || (size == peaks.size[i] && at >= peaks.at[i])) return;
    peaks.size[i] = size;
    peaks.at[i] = at;
  }
};

}  // namespace approx
