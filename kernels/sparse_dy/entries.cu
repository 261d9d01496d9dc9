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

// Against the exact product of entries written out. On an H200 (docs/internals/gpu.md), an entry
// a plane of 128 images, they are faster up to this share: 1.1 (64 channels on 8x8 maps, bf16) to 6
// (64 channels on 32x32 maps, float); at a share of 1/16 they lose in 16 bits and TensorFloat-32.
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
