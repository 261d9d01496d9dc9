// The weight gradient from the entries of a sparse dY, on a GPU.
#pragma once

#include <algorithm>

#include "kernels/gpu/kernel.h"
#include "kernels/sparse_dy/sparse_dy.h"

namespace approx {

// A block has one output channel, and of its slice of dW, [Kh*Kw*Ci/groups], at most 256 vectors of
// kWidth numbers, each summed in the registers of a thread in float; where the slice is small
// several groups of threads share the entries, and add up their sums at the end. The channel's
// entries are read together, a row of the plan by each thread, and left in shared memory as the
// pixel of x that the first tap of the kernel meets. No patch of x is gathered anywhere, nothing is
// added to memory, and the order of every sum depends on the shape alone. kWidth divides the input
// channels of a group.
template <typename Number, int kWidth>
struct EntriesWeightGradient {
  static constexpr int kMostThreads = 256;
  Arguments<SparseDY, Number> args;

  constexpr int64_t vectors() const { return args.problem.slice_size() / kWidth; }
  constexpr int64_t chunks() const { return (vectors() + kMostThreads - 1) / kMostThreads; }
  // Vectors of a block, and groups of threads that share its entries.
  constexpr int width() const { return static_cast<int>((vectors() + chunks() - 1) / chunks()); }
  constexpr int parts() const { return kMostThreads / width() < 16 ? kMostThreads / width() : 16; }

  Grid grid() const {
    if (vectors() == 0) return {.x = 0};
    const auto threads = static_cast<int>(blocks_of(int64_t{width()} * parts(), kWarp) * kWarp);
    const size_t sums = static_cast<size_t>(parts()) * static_cast<size_t>(width()) * kWidth;
    return {.x = args.problem.co,
            .y = chunks(),
            .threads = threads,
            .shared = std::max(static_cast<size_t>(threads) * sizeof(Entry), sums * sizeof(float))};
  }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const Problem& p = args.problem;
    const int64_t co = thread.block_x(), inputs = p.group_inputs();
    const int part = thread.index() / width(), lane = thread.index() % width();
    const int64_t vector = thread.block_y() * width() + lane;
    const bool sums = part < parts() && vector < vectors();
    // What this thread adds up: input channel i of the group, under tap (r, s).
    const int64_t tap = vector / (inputs / kWidth), i = vector % (inputs / kWidth) * kWidth;
    const auto down = static_cast<int32_t>(tap / p.kw * p.geometry.dilation.h);
    const auto across = static_cast<int32_t>(tap % p.kw * p.geometry.dilation.w);
    const Number* x =
        args.x + co / (p.co / p.geometry.groups) * inputs + i + (down * p.w + across) * p.ci;

    Floats<kWidth> sum;
    for (int k = 0; k < kWidth; ++k) sum.v[k] = 0;
    Entry* entries = thread.template shared<Entry>();
    for (int64_t first = 0; first < p.n; first += thread.threads()) {
      const int64_t n = first + thread.index();
      const int rows =
          static_cast<int>(p.n - first < thread.threads() ? p.n - first : thread.threads());
      int64_t at = 0, end = 0;
      if (thread.index() < rows) {
        at = args.row_start[n * p.co + co];
        end = args.row_start[n * p.co + co + 1];
      }
      // One entry of each row after the other, until no row has any.
      for (; thread.any(at < end); ++at) {
        if (thread.index() < rows) entries[thread.index()] = at < end ? entry(n, at) : none();
        thread.barrier();
        if (sums) add(entries, rows, part, down, across, x, sum);
      }
    }
    write(thread, sum, sums, part, lane, co * p.slice_size() + vector * kWidth);
  }

 private:
  struct Entry {
    int64_t first;  // where the first tap meets x, which may be outside the map
    int32_t y, x;   // the same as a pixel
    float value;
  };
  static constexpr int32_t kOutside = INT32_MIN / 2;
  static APPROX_GPU Entry none() { return {0, kOutside, kOutside, 0}; }

  APPROX_GPU Entry entry(int64_t n, int64_t at) const {
    const Problem& p = args.problem;
    const int32_t pixel = args.position[at], wo = static_cast<int32_t>(p.wo);
    const int64_t y = pixel / wo * p.geometry.stride.h - p.geometry.padding.h;
    const int64_t x = pixel % wo * p.geometry.stride.w - p.geometry.padding.w;
    return {((n * p.h + y) * p.w + x) * p.ci, static_cast<int32_t>(y), static_cast<int32_t>(x),
            args.value[at]};
  }

  // Adds every parts()-th of the staged entries, from `part` on.
  APPROX_GPU void add(const Entry* entries, int rows, int part, int32_t down, int32_t across,
                      const Number* x, Floats<kWidth>& sum) const {
    const auto h = static_cast<uint32_t>(args.problem.h), w = static_cast<uint32_t>(args.problem.w);
    APPROX_UNROLL(4)
    for (int row = part; row < rows; row += parts()) {
      const Entry& e = entries[row];
      // Below zero is beyond the map too.
      if (static_cast<uint32_t>(e.y + down) >= h || static_cast<uint32_t>(e.x + across) >= w) {
        continue;
      }
      const Floats<kWidth> values = load_constant<kWidth>(x + e.first);
      for (int k = 0; k < kWidth; ++k) sum.v[k] += e.value * values.v[k];
    }
  }

  template <typename Thread>
  APPROX_GPU void write(Thread& thread, Floats<kWidth> sum, bool sums, int part, int lane,
                        int64_t at) const {
    if (parts() > 1) {
      // Nobody reads entries any more: the last thing that all threads did was to agree on that.
      auto* all = thread.template shared<Floats<kWidth>>();
      if (sums) all[part * width() + lane] = sum;
      thread.barrier();
      if (part != 0) return;
      for (int other = 1; sums && other < parts(); ++other) {
        for (int k = 0; k < kWidth; ++k) sum.v[k] += all[other * width() + lane].v[k];
      }
    }
    if (sums && part == 0) store<kWidth>(args.out + at, sum);
  }
};

}  // namespace approx
