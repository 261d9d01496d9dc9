#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/trials/fused_gather_gpu.h"
#include "tests/gpu_checks/checks.h"

namespace approx {
namespace {

// A sample of so many channels: none, one, all, a run of them, or any.
std::vector<int64_t> drawn_sample(Draws& draw, int64_t channels) {
  const int64_t kind = draw.below(8);
  if (kind == 0) return {draw.below(channels)};
  std::vector<int64_t> index;
  const int64_t one_in = kind == 1 ? 1 : 1 + draw.below(draw.below(3) == 0 ? 40 : 4);
  const int64_t run = kind == 2 ? draw.below(channels) : 0;
  for (int64_t c = run; c < channels; ++c) {
    if (draw.below(one_in) == 0) index.push_back(c);
  }
  return index;
}

int64_t eights(Draws& draw, int64_t most) { return 8 * (1 + draw.below(most / 8)); }

template <typename Number>
std::vector<Number> drawn_numbers(Draws& draw, int64_t count) {
  return as_numbers<Number>(draw.numbers(count));
}

// For memory that has the numbers, what is in it as the definition sees it.
template <typename Number>
std::vector<double> in_double(const std::vector<Number>& numbers) {
  std::vector<double> all;
  for (const Number number : numbers) all.push_back(static_cast<float>(number));
  return all;
}

size_t at(int64_t row, int64_t length, int64_t column) {
  return static_cast<size_t>(row * length + column);
}

// B [rows,depth] in the sizes that it is padded to: weight(row, depth) where there is one.
template <typename Number, typename Weight>
std::vector<Number> padded_weights(int64_t rows, int64_t padded_rows, int64_t depth,
                                   Weight weight) {
  const int64_t padded_depth = in_multiples(depth, kPaddedDepth);
  std::vector<Number> all(static_cast<size_t>(padded_rows * padded_depth));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t d = 0; d < depth; ++d) all[at(row, padded_depth, d)] = weight(row, d);
  }
  return all;
}

template <typename Number>
std::string weights_agree(uint64_t seed) {
  Draws draw(seed);
  const int64_t channels = 1 + draw.below(90), others = 1 + draw.below(90);
  const auto index = drawn_sample(draw, channels);
  const auto kept = static_cast<int64_t>(index.size());
  const bool on_rows = draw.below(2) == 0, row_is_last = draw.below(2) == 0;
  const bool scaled = draw.below(2) == 0;
  const auto factors = draw.numbers(kept);
  const auto w = drawn_numbers<Number>(draw, channels * others);
  ListedWeights<Number> on{.rows = on_rows ? kept : others, .depth = on_rows ? others : kept};
  on.of_row = row_is_last ? 1 : on_rows ? others : channels;
  on.of_depth = row_is_last ? (on_rows ? channels : others) : 1;
  on.list_on_rows = on_rows;
  on.padded_rows = in_multiples(on.rows, kPaddedDepth) + kPaddedDepth * draw.below(2);
  on.padded_depth = in_multiples(on.depth, kPaddedDepth);
  if (on.padded_rows == 0 || on.padded_depth == 0) return {};
  const auto wanted =
      padded_weights<Number>(on.rows, on.padded_rows, on.depth, [&](int64_t row, int64_t d) {
        const auto j = static_cast<size_t>(on_rows ? row : d);
        const int64_t r = on_rows ? index[j] : row, c = on_rows ? d : index[j];
        const Number whole = w[static_cast<size_t>(r * on.of_row + c * on.of_depth)];
        return scaled ? Number(static_cast<float>(whole) * factors[j]) : whole;
      });

  const GpuArray<int64_t> there_index(index);
  const GpuArray<float> there_factors(factors);
  const GpuArray<Number> there_w(w);
  std::vector<Number> got;
  std::string wrong = in_all_orders<std::vector<Number>>(
      [&](Order order, std::vector<Number>& results) {
        GpuArray<Number> out(static_cast<int64_t>(wanted.size()));
        ListedWeights<Number> there = on;
        there.w = there_w.data();
        there.index = there_index.data();
        if (scaled) there.scale = there_factors.data();
        there.out = out.data();
        std::string failed = emulate(GatherWeights<Number>{there}, order);
        if (!out.intact()) failed = "it wrote elsewhere";
        results = out.values();
        return failed;
      },
      got);
  if (wrong.empty() && !same_bits(got, wanted)) wrong = "other bits than the definition's";
  return wrong.empty() ? wrong
                       : fmt::format("{} ({} of {} channels, {} others{}{}{})", wrong, kept,
                                     channels, others, on_rows ? ", on rows" : "",
                                     row_is_last ? ", turned" : "", scaled ? ", times" : "");
}

int64_t drawn_pixels(Draws& draw) {
  static constexpr int64_t kMost[] = {4, 150, 300};
  return 1 + draw.below(kMost[draw.below(3)]);
}

template <typename Number, int kColumns>
std::string sums_agree(uint64_t seed) {
  Draws draw(seed);
  SampleSum<Number> on{.pixels = drawn_pixels(draw), .columns = eights(draw, 2 * kColumns)};
  on.channels = 1 + draw.below(draw.below(3) == 0 ? 300 : 70);
  auto index = drawn_sample(draw, on.channels);
  const bool all = draw.below(5) == 0;  // of what holds the sample alone
  if (all) {
    for (index.clear(); static_cast<int64_t>(index.size()) < on.channels;) {
      index.push_back(static_cast<int64_t>(index.size()));
    }
  }
  // In any order: the lists of a plan ascend, which this kernel does not need.
  for (size_t i = index.size(); !all && draw.below(2) == 0 && i > 1; --i) {
    std::swap(index[i - 1], index[static_cast<size_t>(draw.below(static_cast<int64_t>(i)))]);
  }
  on.kept = static_cast<int64_t>(index.size());
  on.depth = in_multiples(on.kept, kPaddedDepth);
  auto from = drawn_numbers<Number>(draw, on.pixels * on.channels);
  const auto w =
      padded_weights<Number>(on.columns, in_multiples(on.columns, kPaddedColumns), on.kept,
                             [&](int64_t, int64_t) { return Number(draw.number()); });
  const auto exact_from = in_double(from), exact_w = in_double(w);
  std::vector<double> truth(static_cast<size_t>(on.pixels * on.columns));
  for (int64_t p = 0; p < on.pixels; ++p) {
    for (int64_t c = 0; c < on.columns; ++c) {
      double& sum = truth[at(p, on.columns, c)];
      for (int64_t j = 0; j < on.kept; ++j) {
        sum += exact_from[at(p, on.channels, index[static_cast<size_t>(j)])] *
               exact_w[at(c, on.depth, j)];
      }
    }
  }
  // What is left out leaves no trace.
  for (int64_t c = 0; c < on.channels; ++c) {
    if (std::find(index.begin(), index.end(), c) != index.end()) continue;
    for (int64_t p = 0; p < on.pixels; ++p) {
      from[at(p, on.channels, c)] = Number(std::numeric_limits<float>::quiet_NaN());
    }
  }

  const GpuArray<int64_t> there_index(index);
  const GpuArray<Number> there_from(from), there_w(w);
  const std::string wrong = product_agrees<Number>(truth, [&](Order order, Number* out) {
    SampleSum<Number> there = on;
    there.from = there_from.data();
    if (!all) there.index = there_index.data();
    there.weights = there_w.data();
    there.out = out;
    return emulate(SampledSum<Number, kColumns>{there}, order);
  });
  return wrong.empty()
             ? wrong
             : fmt::format("{} ({} of {} channels, {} pixels, {} columns{})", wrong, on.kept,
                           on.channels, on.pixels, on.columns, all ? ", no list" : "");
}

template <typename Number, int kColumns>
std::string spreads_agree(uint64_t seed) {
  Draws draw(seed);
  SampleSpread<Number> on{.pixels = drawn_pixels(draw)};
  on.channels = eights(draw, draw.below(3) == 0 ? 48 : 4 * kColumns);
  on.terms = eights(draw, 80);
  const auto index = drawn_sample(draw, on.channels);
  on.kept = static_cast<int64_t>(index.size());
  on.depth = in_multiples(on.terms, kPaddedDepth);
  const bool scaled = draw.below(2) == 0;
  const auto factors = draw.numbers(on.kept);
  auto from = drawn_numbers<Number>(draw, on.pixels * on.terms);
  const auto w =
      padded_weights<Number>(on.kept, in_multiples(on.kept + kPaddedColumns, kPaddedDepth),
                             on.terms, [&](int64_t, int64_t) { return Number(draw.number()); });
  // One pixel is no finite number: what is kept of it is none either, and the others are zero.
  const int64_t spoilt = draw.below(on.pixels);
  from[at(spoilt, on.terms, 0)] = Number(std::numeric_limits<float>::infinity());
  const auto exact_from = in_double(from), exact_w = in_double(w);
  std::vector<double> truth(static_cast<size_t>(on.pixels * on.channels));
  for (int64_t p = 0; p < on.pixels; ++p) {
    for (int64_t j = 0; p != spoilt && j < on.kept; ++j) {
      const auto place = static_cast<size_t>(j);
      double& sum = truth[at(p, on.channels, index[place])];
      for (int64_t d = 0; d < on.terms; ++d) {
        sum += exact_from[at(p, on.terms, d)] * exact_w[at(j, on.depth, d)];
      }
      if (scaled) sum *= factors[place];
    }
  }

  const GpuArray<int64_t> there_index(index);
  const GpuArray<float> there_factors(factors);
  const GpuArray<Number> there_from(from), there_w(w);
  const std::string wrong = product_agrees<Number>(truth, [&](Order order, Number* out) {
    SampleSpread<Number> there = on;
    there.from = there_from.data();
    there.index = there_index.data();
    if (scaled) there.scale = there_factors.data();
    there.weights = there_w.data();
    there.out = out;
    std::string failed = emulate(SampledSpread<Number, kColumns>{there}, order);
    for (const int64_t channel : index) {
      Number& number = out[at(spoilt, on.channels, channel)];
      if (std::isfinite(static_cast<float>(number)) && failed.empty()) {
        failed = fmt::format("channel {} of a pixel that is not finite is", channel);
      }
      number = Number(0.0F);
    }
    return failed;
  });
  return wrong.empty()
             ? wrong
             : fmt::format("{} ({} of {} channels, {} pixels, {} terms{})", wrong, on.kept,
                           on.channels, on.pixels, on.terms, scaled ? ", times" : "");
}

std::vector<Agreement> fused_gather_on_gpu() {
  return {{"fused gather: weights of bfloat16", weights_agree<BFloat16>},
          {"fused gather: weights of float16", weights_agree<Float16>},
          {"fused gather: sums of bfloat16, 64 columns", sums_agree<BFloat16, 64>},
          {"fused gather: sums of float16, 128 columns", sums_agree<Float16, 128>},
          {"fused gather: spread of bfloat16, 128 columns", spreads_agree<BFloat16, 128>},
          {"fused gather: spread of float16, 64 columns", spreads_agree<Float16, 64>}};
}

const GpuChecks kChecks{fused_gather_on_gpu};

}  // namespace

}  // namespace approx
