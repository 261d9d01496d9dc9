// The sums of magnitudes of planes, on a GPU.
#pragma once

#include <cmath>

#include "kernels/gpu/planes.h"
#include "kernels/select/magnitude.h"

namespace approx {

// Each block reads the planes of up to 32 x kWidth neighbouring channels of an image once; then its
// parts join their sums. kWidth divides the channels.
template <typename Number, int kWidth>
struct PlaneMagnitudes {
  static constexpr int kMostThreads = 512;
  PlaneMagnitudesOnGpu<Number> args;

  constexpr PlaneBlocks blocks() const {
    return {args.n, args.plane, args.co / kWidth, kMostThreads};
  }
  Grid grid() const { return blocks().grid(SharedSums<kWidth>::kBytes); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const PlaneThread at(blocks(), thread);
    const int64_t channel = at.vector * kWidth;
    const bool is_one = channel < args.co;
    const Number* image = args.dy + thread.block_x() * args.plane * args.co + channel;
    const SharedSums<kWidth> sums(thread);
    for_short_sums(at.part, is_one ? args.plane : 0, at.parts, [&](int64_t begin, int64_t end) {
      Floats<kWidth> sum{};
      APPROX_UNROLL(4)
      for (int64_t pixel = begin; pixel < end; pixel += at.parts) {
        const Floats<kWidth> values = load_constant<kWidth>(image + pixel * args.co);
        for (int i = 0; i < kWidth; ++i) sum.v[i] += std::fabs(values.v[i]);
      }
      for (int i = 0; i < kWidth; ++i) sums.of(i) += double{sum.v[i]};
    });
    join_parts(thread, at, [&](int mine, int other) { sums.join(mine, other); });
    if (at.part != 0 || !is_one) return;
    for (int i = 0; i < kWidth; ++i) {
      double sum = sums.of(i);
      if (!std::isfinite(sum)) sum = in_double(image + i);
      args.sum[thread.block_x() * args.co + channel + i] = sum;
    }
  }

 private:
  // Adds pixel after pixel in double, for planes where sums of a few pixels exceed the range of
  // float.
  APPROX_GPU double in_double(const Number* plane) const {
    double sum = 0;
    for (int64_t pixel = 0; pixel < args.plane; ++pixel) {
      sum += double{std::fabs(load_constant<1>(plane + pixel * args.co).v[0])};
    }
    return sum;
  }
};

}  // namespace approx
