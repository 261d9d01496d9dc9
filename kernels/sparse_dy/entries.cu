#include "kernels/gpu/launch.cuh"
#include "kernels/sparse_dy/entries_gpu.h"

namespace approx {
namespace {

template <typename Number>
void weight_gradient_of_entries(const Arguments<SparseDY, Number>& args, void* stream) {
  const bool fours = args.problem.group_inputs() % 4 == 0;
  if (fours && lies_by(4, args.x)) {
    return launch(EntriesWeightGradient<Number, 4>{args}, stream);
  }
  launch(EntriesWeightGradient<Number, 1>{args}, stream);
}

// An estimate until it has been measured: a multiply-add of four bytes from the second-level cache
// at 5 TB/s against two operations of an exact product at 60 (float) to 400 TFLOP/s
// (TensorFloat-32) would pay up to a share of 1/20 or 1/150; in 16 bits both are twice as fast.
bool pays(const Problem& p) {
  constexpr double kMostEntries = 1.0 / 64;
  return p.density <= kMostEntries;
}

REGISTER_KERNEL(SparseDY, "entries_cuda", weight_gradient_of_entries<float>)
    .computes({Product::kWeightGradient})
    .pays(pays)
    .rank(0);
// Before the one that converts such operands to float.
REGISTER_KERNEL(SparseDY, "entries_cuda_bf16", weight_gradient_of_entries<BFloat16>)
    .computes({Product::kWeightGradient})
    .pays(pays)
    .rank(-1);
REGISTER_KERNEL(SparseDY, "entries_cuda_fp16", weight_gradient_of_entries<Float16>)
    .computes({Product::kWeightGradient})
    .pays(pays)
    .rank(-1);

}  // namespace
}  // namespace approx
