#include "tests/additions/kernels/dense/added_gpu.h"
#include "tests/gpu_checks/checks.h"
#include "tests/kernel_checks/operands.h"

namespace approx {
namespace {

std::string added_agrees(uint64_t seed) {
  Draws draw(seed);
  Problem problem = drawn_problem(draw);
  problem.product = Product::kWeightGradient;
  const ProductOperands operands(problem, draw, /*density=*/1);
  std::vector<double> truth(static_cast<size_t>(operands.result_size()));
  Registry<Variant<Dense>>::instance()
      .find("reference")
      .doubles.work.loop(operands.in_double<Dense>(truth.data()), 0, problem.slices());

  const GpuArray<float> x(operands.x), dy(operands.dy);
  std::string wrong = product_agrees<float>(truth, [&](Order order, float* out) {
    AddedWeightGradient kernel{operands.floats<Dense>(out)};
    kernel.args.x = x.data();
    kernel.args.dy = dy.data();
    return emulate(kernel, order);
  });
  return wrong.empty() ? wrong : wrong + " (" + described(problem) + ")";
}

std::vector<Agreement> added_on_gpu() { return {{"added", added_agrees}}; }

const GpuChecks kChecks{added_on_gpu};

}  // namespace
}  // namespace approx
