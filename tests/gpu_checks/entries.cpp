#include <fmt/format.h>

#include "kernels/sparse_dy/entries_gpu.h"
#include "tests/gpu_checks/checks.h"
#include "tests/kernel_checks/operands.h"

namespace approx {
namespace {

template <typename Number, int kWidth>
std::string entries_agree(uint64_t seed) {
  Draws draw(seed);
  Problem problem = drawn_problem(draw);
  problem.product = Product::kWeightGradient;
  // Channels of a group in whole vectors.
  static constexpr int64_t kInputs[] = {1, 2, 5, 9, 16, 64};
  problem.geometry.groups = draw.below(3) == 0 ? 2 : 1;
  problem.ci = kInputs[draw.below(6)] * kWidth * problem.geometry.groups;
  problem.co = (1 + draw.below(5)) * problem.geometry.groups;
  // More images than a block has threads.
  if (draw.below(4) == 0) {
    problem.n = 33 + draw.below(40);
    problem.kh = problem.kw = 1;
    problem.geometry.padding = 0;
    problem.ci = kWidth * problem.geometry.groups;
    const auto out = output_size({problem.h, problem.w}, {1, 1}, problem.geometry);
    problem.ho = out.h, problem.wo = out.w;
  }
  static constexpr double kDensities[] = {0, 0.005, 0.05, 1};
  const double density = kDensities[draw.below(4)];
  ProductOperands operands(problem, draw, density);
  operands.x = rounded<Number>(operands.x);
  operands.doubles[0].assign(operands.x.begin(), operands.x.end());

  std::vector<double> truth(static_cast<size_t>(operands.result_size()));
  Registry<Variant<SparseDY>>::instance()
      .find("reference")
      .doubles.work.loop(operands.in_double<SparseDY>(truth.data()), 0, problem.slices());

  const GpuArray<Number> x(as_numbers<Number>(operands.x));
  const GpuArray<float> value(operands.value);
  const GpuArray<int64_t> row_start(operands.row_start);
  const GpuArray<int32_t> position(operands.position);
  const std::string wrong = product_agrees<Number>(truth, [&](Order order, Number* out) {
    Arguments<SparseDY, Number> args{};
    args.problem = problem;
    args.x = x.data();
    args.out = out;
    args.row_start = row_start.data();
    args.position = position.data();
    args.value = value.data();
    return emulate(EntriesWeightGradient<Number, kWidth>{args}, order);
  });
  return wrong.empty() ? wrong
                       : fmt::format("{} ({}, groups {}, density {})", wrong, described(problem),
                                     problem.geometry.groups, density);
}

std::vector<Agreement> entries_on_gpu() {
  return {{"SparseDY entries, fours", entries_agree<float, 4>},
          {"SparseDY entries, one by one", entries_agree<float, 1>},
          {"SparseDY entries of bfloat16, fours", entries_agree<BFloat16, 4>},
          {"SparseDY entries of bfloat16, one by one", entries_agree<BFloat16, 1>},
          {"SparseDY entries of float16, fours", entries_agree<Float16, 4>},
          {"SparseDY entries of float16, one by one", entries_agree<Float16, 1>}};
}

const GpuChecks kChecks{entries_on_gpu};

}  // namespace

}  // namespace approx
