// The weight gradient from the entries of a sparse dY, on a GPU.
#pragma once

#include <algorithm>

#include "kernels/gpu/weight_slices.h"
#include "kernels/sparse_dy/sparse_dy.h"

namespace approx {

// Each block has one output channel (SliceBlocks). The channel's entries are read together, one row
// of the plan per thread. They are put into shared memory as the pixel of x that the first tap of
// the kernel reads. No patch of x is gathered, and nothing is added in global memory. The order of
// every sum depends only on the shape.
template <typename Number, int kWidth>
struct EntriesWeightGradient {
  using Blocks = SliceBlocks<kWidth>;
  static constexpr int kMostThreads = Blocks::kMostThreads;
  Arguments<SparseDY, Number> args;

  constexpr Blocks blocks() const { return {args.problem.slice_size()}; }
  Grid grid() const {
    if (blocks().vectors() == 0) return {.x = 0};
    const size_t entries = static_cast<size_t>(blocks().threads()) * sizeof(Entry);
    return {.x = args.problem.co,
            .y = blocks().chunks(),
            .threads = blocks().threads(),
            .shared = std::max(entries, blocks().shared())};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const Problem& p = args.problem;
    const int64_t co = thread.block_x();
    const SliceThread<kWidth> at(blocks(), p, thread);
    const Number* x = args.x + co / (p.co / p.geometry.groups) * p.group_inputs();
    Floats<kWidth> sum[1]{};
    Entry* entries = thread.template shared<Entry>();
    for (int64_t first = 0; first < p.n; first += thread.threads()) {
      const int64_t n = first + thread.index();
      const int rows =
          static_cast<int>(p.n - first < thread.threads() ? p.n - first : thread.threads());
      int64_t next = 0, end = 0;
      if (thread.index() < rows) {
        next = args.row_start[n * p.co + co];
        end = args.row_start[n * p.co + co + 1];
      }
      // One entry of each row per turn, until no row has any.
      for (; thread.any(next < end); ++next) {
        if (thread.index() < rows) entries[thread.index()] = next < end ? entry(n, next) : none();
        thread.barrier();
        if (at.sums) add_listed(entries, rows, p, at, x, sum);
      }
    }
    // Nobody reads entries any more: the last operation of all threads was to agree on that.
    join_slices(thread, at, thread.template shared<Floats<kWidth>>(), sum[0]);
    if (at.sums && at.part == 0) {
      store<kWidth>(args.out + co * p.slice_size() + at.vector * kWidth, sum[0]);
    }
  }

 private:
  using Entry = ListedPixel<1>;
  static APPROX_GPU Entry none() {
    Entry entry;
    entry.clear();
    return entry;
  }

  APPROX_GPU Entry entry(int64_t n, int64_t at) const {
    Entry entry;
    entry.place(args.problem, n, args.position[at]);
    entry.value[0] = args.value[at];
    return entry;
  }
};

}  // namespace approx
