// The data gradient from the entries of a pruned dY, on a GPU.
#pragma once

#include "kernels/pruned_dy/gradient_rows_gpu.h"

namespace approx {

// A nonzero entry of a row.
struct alignas(8) RowEntry {
  int32_t channel;  // of the group
  float value;
};

// Lists the entries of every row in the order of its channels, stored from the row's beginning in
// dY. So no row needs the counts of the rows before it. A warp reads neighbouring memory, and its
// lanes vote on who found an entry. A NaN is an entry.
template <typename Number>
struct ListRows {
  static constexpr int kMostThreads = WarpRows::kThreads;
  Problem problem;
  const Number* dy = nullptr;   // [rows,channels]
  RowEntry* entries = nullptr;  // [rows,channels]
  int32_t* count = nullptr;     // [rows]

  constexpr WarpRows rows() const { return {gradient_rows(problem), gradient_channels(problem)}; }
  Grid grid() const { return rows().grid(); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const WarpRow at(rows(), thread);
    const int64_t channels = rows().items, begin = at.row * channels;
    const bool is_row = at.row < rows().rows;
    int found = 0;
    for (int64_t first = 0; first < channels; first += at.across) {
      const int64_t channel = first + at.lane;
      float value = 0;
      if (is_row && channel < channels) value = load_constant<1>(dy + begin + channel).v[0];
      const uint32_t all = at.own(thread.ballot(value != 0));
      if (value != 0) {
        const int before = bits_set(all & ((1u << at.lane) - 1));
        entries[begin + found + before] = {static_cast<int32_t>(channel), value};
      }
      found += bits_set(all);
    }
    if (is_row && at.lane == 0) count[at.row] = found;
  }
};

// Each thread sums kWidth neighbouring input channels of a pixel of dX in its registers, in float.
// Each tap connects the pixel with one of dY; for each entry there, a vector of weights is read, by
// lanes side by side. Nothing is added in global memory. Every sum is in the order of taps and
// channels. kWidth divides the input channels of a group.
template <typename Number, int kWidth>
struct RowsDataGradient {
  static constexpr int kMostThreads = PixelVectors::kThreads;
  Arguments<PrunedDY, Number> args;
  const RowEntry* entries = nullptr;  // from ListRows
  const int32_t* count = nullptr;

  constexpr PixelVectors vectors() const {
    return {args.problem.n * args.problem.h * args.problem.w, args.problem.ci / kWidth};
  }
  Grid grid() const { return vectors().grid(); }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const Problem& p = args.problem;
    const int64_t pixel = vectors().pixel(thread), vector = vectors().vector(thread);
    if (pixel >= vectors().pixels || vector >= vectors().vectors) return;
    const int64_t inputs = p.group_inputs(), outputs = gradient_channels(p);
    const auto group = static_cast<int32_t>(vector / (inputs / kWidth));
    const int64_t i = vector % (inputs / kWidth) * kWidth;
    const int64_t of_channel = p.kh * p.kw * inputs;  // numbers of w per output channel
    const Number* w = args.w + group * outputs * of_channel + i;
    const MetRows rows(p);
    const auto at = rows.place(pixel);
    const auto taps = static_cast<int32_t>(p.kh * p.kw);
    Floats<kWidth> sum{};
    for (int32_t tap = 0; tap < taps; ++tap) {
      const int32_t row = rows.row(at, tap, group);
      if (row >= 0) add(entries + row * outputs, count[row], w + tap * inputs, of_channel, sum);
    }
    store<kWidth>(args.out + pixel * p.ci + vector * kWidth, sum);
  }

 private:
  static APPROX_GPU void add(const RowEntry* list, int entries_of_row, const Number* w,
                             int64_t of_channel, Floats<kWidth>& sum) {
    APPROX_UNROLL(4)
    for (int e = 0; e < entries_of_row; ++e) {
      const RowEntry entry = list[e];
      const Floats<kWidth> weights = load_constant<kWidth>(w + entry.channel * of_channel);
      for (int k = 0; k < kWidth; ++k) sum.v[k] += entry.value * weights.v[k];
    }
  }
};

}  // namespace approx
