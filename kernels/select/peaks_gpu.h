// The k positions that represent a plane of dY, on a GPU.
#pragma once

#include <cmath>

#include "kernels/gpu/planes.h"
#include "kernels/select/peaks.h"

namespace approx {

// Each block reads the planes of up to 32 neighbouring channels of an image once. Each thread keeps
// the kMost largest of its pixels in order, in registers, and both sums. Then the parts join
// theirs. The number args.k is at most kMost.
template <typename Number, int kMost>
struct PlanePeaks {
  static constexpr int kMostThreads = 512;
  PeaksArgs<Number> args;

  constexpr PlaneBlocks blocks() const { return {args.n, args.plane, args.co, kMostThreads}; }
  Grid grid() const { return blocks().grid(sizeof(Best) + SharedSums<2>::kBytes); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const PlaneThread at(blocks(), thread);
    const int64_t channel = at.vector;
    const bool is_one = channel < args.co;
    const Number* image = args.dy + thread.block_x() * args.plane * args.co + channel;
    Best* all = thread.template shared<Best>();
    // The sum of all pixels and the sum of their magnitudes.
    const SharedSums<2> sums(thread, static_cast<size_t>(thread.threads()) * sizeof(Best));
    Best own;
    for (int i = 0; i < kMost; ++i) own.key[i] = 0, own.at[i] = kNowhere;
    const int64_t pixels = is_one ? args.plane : 0;
    for_short_sums(at.part, pixels, at.parts, [&](int64_t begin, int64_t end) {
      float sum = 0, magnitude = 0;
      APPROX_UNROLL(4)
      for (int64_t pixel = begin; pixel < end; pixel += at.parts) {
        const float value = load_constant<1>(image + pixel * args.co).v[0];
        sum += value;
        magnitude += size_of(value);
        insert(own, key_of(value), static_cast<int32_t>(pixel));
      }
      sums.of(0) += double{sum};
      sums.of(1) += double{magnitude};
    });
    all[thread.index()] = own;
    join_parts(thread, at, [&](int mine, int other) {
      sums.join(mine, other);
      for (int i = 0; i < kMost; ++i) insert(all[mine], all[other].key[i], all[other].at[i]);
    });
    if (at.part != 0 || !is_one) return;
    if (!std::isfinite(sums.of(0) + sums.of(1))) {
      sums.of(0) = sums.of(1) = 0;
      for (int64_t pixel = 0; pixel < args.plane; ++pixel) {
        const double value = load_constant<1>(image + pixel * args.co).v[0];
        sums.of(0) += value;
        sums.of(1) += std::fabs(value);
      }
    }
    write(image, thread.block_x() * args.co + channel, all[thread.index()], sums.of(0), sums.of(1));
  }

 private:
  struct Best {
    uint32_t key[kMost];  // the largest first
    int32_t at[kMost];
  };
  static constexpr int32_t kNowhere = INT32_MAX;

  static APPROX_GPU float size_of(float value) { return value < 0 ? -value : value; }

  // Keys in the order of magnitudes. All NaNs have one key, the largest.
  static APPROX_GPU uint32_t key_of(float value) {
    return value == value ? bits_of(value) & 0x7FFFFFFFu : 0x7F800001u;
  }

  static APPROX_GPU bool before(uint32_t key, int32_t at, uint32_t other_key, int32_t other_at) {
    return key > other_key || (key == other_key && at < other_at);
  }

  // Inserts from the end: smaller keys move down. (The compiler knows all indices, so everything
  // stays in registers.)
  static APPROX_GPU void insert(Best& best, uint32_t key, int32_t at) {
    if (!before(key, at, best.key[kMost - 1], best.at[kMost - 1])) return;
    for (int i = kMost - 1; i > 0; --i) {
      if (before(key, at, best.key[i - 1], best.at[i - 1])) {
        best.key[i] = best.key[i - 1];
        best.at[i] = best.at[i - 1];
      } else if (before(key, at, best.key[i], best.at[i])) {
        best.key[i] = key;
        best.at[i] = at;
      }
    }
    if (before(key, at, best.key[0], best.at[0])) {
      best.key[0] = key;
      best.at[0] = at;
    }
  }

  APPROX_GPU float kept(const Number* image, const Best& best, int i) const {
    return load_constant<1>(image + best.at[i] * args.co).v[0];
  }

  APPROX_GPU void write(const Number* image, int64_t plane, const Best& best, double sum,
                        double magnitude) const {
    double kept_sum = 0, kept_magnitude = 0;
    for (int i = 0; i < kMost && i < args.k; ++i) {
      const float value = kept(image, best, i);
      kept_sum += double{value};
      kept_magnitude += double{size_of(value)};
    }
    double times = args.factor;
    if (args.scale == PeakScale::kSigned && kept_sum != 0) times *= sum / kept_sum;
    if (args.scale == PeakScale::kL1 && kept_magnitude != 0) times *= magnitude / kept_magnitude;
    const auto equal = static_cast<float>(sum / static_cast<double>(args.k) * args.factor);
    for (int i = 0; i < kMost && i < args.k; ++i) {
      args.position[plane * args.k + i] = best.at[i];
      args.value[plane * args.k + i] =
          args.scale == PeakScale::kEqual
              ? equal
              : static_cast<float>(double{kept(image, best, i)} * times);
    }
  }
};

}  // namespace approx
