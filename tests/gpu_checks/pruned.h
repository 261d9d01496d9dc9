// Products of a pruned dY, drawn, that kernels of a GPU are held to.
#pragma once

#include <fmt/format.h>

#include <limits>

#include "kernels/pruned_dy/gradient_rows_gpu.h"
#include "tests/gpu_checks/checks.h"
#include "tests/kernel_checks/operands.h"

namespace approx {

// A product of a sparse dY whose numbers are a Number each, and what must come out. What is
// multiplied by zeros alone of dY in places that a kernel skips as a whole is NaN for the kernel.
template <typename Number>
struct Pruned {
  Pruned(Product product, int width, uint64_t seed)
      : draw(seed),
        long_lists(product == Product::kWeightGradient && seed % 3 == 1),
        problem(drawn(product, width, seed)),
        operands(problem, draw, long_lists ? 0.8 : density(draw)) {
    leave_out();
    for (auto* values : {&operands.x, &operands.w, &operands.dy}) {
      *values = rounded<Number>(*values);
    }
    for (const auto* from : {&operands.x, &operands.w, &operands.dy}) {
      operands.doubles[static_cast<size_t>(from - &operands.x)] = {from->begin(), from->end()};
    }
    truth.resize(static_cast<size_t>(operands.result_size()));
    Registry<Variant<PrunedDY>>::instance()
        .find("reference")
        .doubles.work.loop(operands.template in_double<PrunedDY>(truth.data()), 0,
                           problem.slices());
    for (const size_t at : unread) {
      (product == Product::kDataGradient ? operands.w : operands.x)[at] =
          std::numeric_limits<float>::quiet_NaN();
    }
  }

  // Runs `kernels`(args, order) in all orders; says what is wrong with the result.
  template <typename Kernels>
  std::string agrees(Kernels kernels) const {
    const GpuArray<Number> x(as_numbers<Number>(operands.x)), w(as_numbers<Number>(operands.w)),
        dy(as_numbers<Number>(operands.dy));
    const std::string wrong = product_agrees<Number>(truth, [&](Order order, Number* out) {
      Arguments<PrunedDY, Number> args{};
      args.problem = problem;
      args.x = x.data();
      args.w = w.data();
      args.dy = dy.data();
      args.out = out;
      return kernels(args, order);
    });
    return wrong.empty() ? wrong
                         : fmt::format("{} ({}, groups {})", wrong, described(problem),
                                       problem.geometry.groups);
  }

  Draws draw;
  bool long_lists;  // of several chunks, longer than a block has threads
  Problem problem;
  ProductOperands operands;
  std::vector<double> truth;
  std::vector<size_t> unread;  // of w, or of x

 private:
  static double density(Draws& draw) {
    static constexpr double kDensities[] = {0, 0.005, 0.05, 0.4, 1};
    return kDensities[draw.below(5)];
  }

  // Several groups in every fourth; channels of a group in whole vectors; many channels on small
  // maps; maps of several chunks.
  Problem drawn(Product product, int width, uint64_t seed) {
    Problem p = drawn_problem(draw);
    p.product = product;
    static constexpr int64_t kVectors[] = {1, 2, 3, 5};
    p.geometry.groups = seed % 4 == 2 ? 2 + static_cast<int64_t>(seed / 4 % 2) : 1;
    p.ci = kVectors[draw.below(4)] * width * p.geometry.groups;
    p.co = kVectors[draw.below(4)] * width * p.geometry.groups;
    p.n = 1 + draw.below(3);
    if (draw.below(2) == 0) p.geometry.dilation = {1 + draw.below(2), 1 + draw.below(3)};
    p.h = p.geometry.dilation.h * (p.kh - 1) + 1 + draw.below(3);
    p.w = p.geometry.dilation.w * (p.kw - 1) + 1 + draw.below(4);
    if (draw.below(6) == 0) p.kh = p.kw = 7, p.h = 7, p.w = 9, p.n = 1;
    if (!long_lists && draw.below(6) == 0) {
      p.co = 320 * p.geometry.groups;
      p.ci = width * p.geometry.groups;
      p.kh = p.kw = 1 + draw.below(2);
      p.n = 2, p.h = 2, p.w = 3;
    } else if (long_lists || draw.below(6) == 0) {
      p.co = p.ci = width * p.geometry.groups;
      p.kh = p.kw = 1;
      p.n = 3, p.h = 19, p.w = 17;
      p.geometry.stride = 1;
    }
    const Spatial dilation = p.geometry.dilation;
    if (p.h <= dilation.h * (p.kh - 1) || p.w <= dilation.w * (p.kw - 1)) p.geometry.dilation = 1;
    p.geometry.padding = {draw.below(p.kh), draw.below(p.kw)};
    const auto out = output_size({p.h, p.w}, {p.kh, p.kw}, p.geometry);
    p.ho = out.h, p.wo = out.w;
    return p;
  }

  // Makes zero what is then skipped: all of dY's channels in some tiles, so that no weight of those
  // is read, or some examples, of which no x is.
  void leave_out() {
    const Problem& p = problem;
    const int64_t channels = gradient_channels(p);
    const bool of_weights = p.product == Product::kWeightGradient;
    const auto is_out = [&](int64_t n, int64_t c) {
      const int64_t tile = c / channels * gradient_tiles(p) + c % channels / kTileChannels;
      return (of_weights ? n : tile) % 3 == 1;
    };
    for (size_t i = 0; i < operands.dy.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      if (is_out(at / (p.ho * p.wo * p.co), at % p.co)) operands.dy[i] = 0;
    }
    auto& other = of_weights ? operands.x : operands.w;
    const int64_t example = p.h * p.w * p.ci, channel = p.kh * p.kw * p.group_inputs();
    for (int64_t i = 0; i < (of_weights ? p.n * example : p.co * channel); ++i) {
      if (!is_out(of_weights ? i / example : 0, of_weights ? 0 : i / channel)) continue;
      other[static_cast<size_t>(i)] = 0;
      unread.push_back(static_cast<size_t>(i));
    }
  }
};

// The checks of all precisions, named "PrunedDY" and so on: `add`(a number, their name so far).
template <typename Add>
void for_numbers_of_pruned(Add add) {
  add(float(), "PrunedDY ");
  add(BFloat16(), "PrunedDY of bfloat16 ");
  add(Float16(), "PrunedDY of float16 ");
}

}  // namespace approx
