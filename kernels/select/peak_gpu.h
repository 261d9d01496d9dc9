// The position that represents a plane of dY, on a GPU.
#pragma once

#include <cmath>

#include "kernels/gpu/planes.h"
#include "kernels/long_sums.h"
#include "kernels/select/peak.h"

namespace approx {

// The sum of a plane's numbers in double, one after the other, for planes where sums of a few
// exceed the range of float. Neighbouring numbers lie `step` apart.
template <typename Number>
APPROX_GPU double sum_in_double(const Number* plane, int64_t count, int64_t step) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += load_constant<1>(plane + i * step).v[0];
  return sum;
}

// Each block reads the planes of up to 32 x kWidth neighbouring channels of an image once. Each
// thread keeps the peak and the sum of its pixels; then the parts join theirs. kWidth divides the
// channels. kShort: a thread has so few pixels that sums stay in float (fits_float).
template <typename Number, int kWidth, bool kShort = false>
struct PlanePeak {
  static constexpr int kMostThreads = 512;
  PeakArgs<Number> args;

  constexpr PlaneBlocks blocks() const {
    return {args.n, args.plane, args.co / kWidth, kMostThreads};
  }
  Grid grid() const {
    return blocks().grid(kShort ? sizeof(PeaksAndSums)
                                : sizeof(Peaks) + SharedSums<kWidth>::kBytes);
  }
  // Whether a pixel passes at most kFloatRoundings roundings, including those of the joins.
  bool fits_float() const {
    const int64_t parts = grid().threads / blocks().columns();
    int64_t roundings = blocks_of(args.plane, parts) - 1;
    for (int64_t half = parts / 2; half > 0; half /= 2) ++roundings;
    return roundings <= kFloatRoundings;
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    if constexpr (kShort) {
      in_float(thread);
    } else {
      in_double(thread);
    }
  }

 private:
  template <typename Thread>
  APPROX_GPU void in_double(Thread& thread) const {
    const PlaneThread at(blocks(), thread);
    const int64_t channel = at.vector * kWidth;
    const bool is_one = channel < args.co;
    const Number* image = args.dy + thread.block_x() * args.plane * args.co + channel;
    Peaks* all = thread.template shared<Peaks>();
    const SharedSums<kWidth> sums(thread, static_cast<size_t>(thread.threads()) * sizeof(Peaks));
    Peaks own;
    for (int i = 0; i < kWidth; ++i) own.size[i] = kNothing, own.at[i] = kNowhere;
    const int64_t pixels = is_one ? args.plane : 0;
    for_short_sums(at.part, pixels, at.parts, [&](int64_t begin, int64_t end) {
      Floats<kWidth> sum{};
      APPROX_UNROLL(4)
      for (int64_t pixel = begin; pixel < end; pixel += at.parts) {
        const Floats<kWidth> values = load_constant<kWidth>(image + pixel * args.co);
        for (int i = 0; i < kWidth; ++i) {
          sum.v[i] += values.v[i];
          take(own, i, size_of(values.v[i], pixel), static_cast<int32_t>(pixel));
        }
      }
      for (int i = 0; i < kWidth; ++i) sums.of(i) += double{sum.v[i]};
    });
    all[thread.index()] = own;
    join_parts(thread, at, [&](int mine, int other) {
      sums.join(mine, other);
      for (int i = 0; i < kWidth; ++i) take(all[mine], i, all[other].size[i], all[other].at[i]);
    });
    if (at.part != 0 || !is_one) return;
    for (int i = 0; i < kWidth; ++i)
      leave(thread, channel + i, all[thread.index()].at[i], sums.of(i));
  }

  template <typename Thread>
  APPROX_GPU void in_float(Thread& thread) const {
    const PlaneThread at(blocks(), thread);
    const int64_t channel = at.vector * kWidth;
    const bool is_one = at.vector < blocks().vectors;
    const Number* image = args.dy + thread.block_x() * args.plane * args.co + channel;
    PeaksAndSums own;
    for (int i = 0; i < kWidth; ++i) {
      own.peaks.size[i] = kNothing, own.peaks.at[i] = kNowhere, own.sum[i] = 0;
    }
    const int64_t pixels = is_one ? args.plane : 0;
    APPROX_UNROLL(4)
    for (int64_t pixel = at.part; pixel < pixels; pixel += at.parts) {
      const Floats<kWidth> values = load_constant<kWidth>(image + pixel * args.co);
      for (int i = 0; i < kWidth; ++i) {
        own.sum[i] += values.v[i];
        take(own.peaks, i, size_of(values.v[i], pixel), static_cast<int32_t>(pixel));
      }
    }
    auto* all = thread.template shared<PeaksAndSums>();
    all[thread.index()] = own;
    join_parts(thread, at, [&](int mine, int other) {
      for (int i = 0; i < kWidth; ++i) {
        all[mine].sum[i] += all[other].sum[i];
        take(all[mine].peaks, i, all[other].peaks.size[i], all[other].peaks.at[i]);
      }
    });
    if (at.part != 0 || !is_one) return;
    const PeaksAndSums& joined = all[thread.index()];
    for (int i = 0; i < kWidth; ++i) {
      leave(thread, channel + i, joined.peaks.at[i], double{joined.sum[i]});
    }
  }

  // Writes the position and the sum of the plane for a channel of the block's image.
  template <typename Thread>
  APPROX_GPU void leave(const Thread& thread, int64_t channel, int32_t position, double sum) const {
    const int64_t image = thread.block_x(), plane = image * args.co + channel;
    // (The definition gives 0 for a plane without pixels too.)
    args.position[plane] = args.plane == 0 ? 0 : position;
    if (!std::isfinite(sum)) {
      sum = sum_in_double(args.dy + image * args.plane * args.co + channel, args.plane, args.co);
    }
    args.sum[plane] = static_cast<float>(sum);
  }

  struct Peaks {
    float size[kWidth];  // the largest magnitude so far
    int32_t at[kWidth];  // the first pixel with it
  };
  struct PeaksAndSums {
    Peaks peaks;
    float sum[kWidth];
  };
  static constexpr float kNothing = -2;
  static constexpr int32_t kNowhere = INT32_MAX;

  // A magnitude that gives the definition's result in any order of comparisons. Comparisons of the
  // definition begin at pixel 0 and are false for a NaN. So a NaN is below all numbers, but at
  // pixel 0 it is never replaced.
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

// Calls run(kernel) with the kernel that is fast and exact enough for the planes.
template <int kWidth, typename Number, typename Run>
void with_peak_kernel(const PeakArgs<Number>& args, Run run) {
  const PlanePeak<Number, kWidth, true> in_float{args};
  if (in_float.fits_float()) return run(in_float);
  run(PlanePeak<Number, kWidth>{args});
}

}  // namespace approx
