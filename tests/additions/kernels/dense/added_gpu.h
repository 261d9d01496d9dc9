// The exact weight gradient on a GPU: a thread for each number of the result.
#pragma once

#include "kernels/dense/dense.h"
#include "kernels/gpu/kernel.h"

namespace approx {

struct AddedWeightGradient {
  static constexpr int kMostThreads = 256;
  Arguments<Dense, float> args;

  int64_t count() const { return args.problem.slices() * args.problem.slice_size(); }
  Grid grid() const { return {.x = blocks_of(count(), kMostThreads), .threads = kMostThreads}; }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const Problem& p = args.problem;
    const Geometry& g = p.geometry;
    const int64_t index = thread.block_x() * thread.threads() + thread.index();
    if (index >= p.slices() * p.slice_size()) return;
    const int64_t i = index % p.ci, s = index / p.ci % p.kw, r = index / (p.ci * p.kw) % p.kh;
    const int64_t co = index / p.slice_size();
    float sum = 0;
    for (int64_t n = 0; n < p.n; ++n) {
      for (int64_t oy = 0; oy < p.ho; ++oy) {
        const int64_t y = g.stride.h * oy - g.padding.h + g.dilation.h * r;
        if (y < 0 || y >= p.h) continue;
        for (int64_t ox = 0; ox < p.wo; ++ox) {
          const int64_t x = g.stride.w * ox - g.padding.w + g.dilation.w * s;
          if (x < 0 || x >= p.w) continue;
          sum += args.dy[((n * p.ho + oy) * p.wo + ox) * p.co + co] *
                 args.x[((n * p.h + y) * p.w + x) * p.ci + i];
        }
      }
    }
    args.out[index] = sum;
  }
};

}  // namespace approx
