#include "kernels/gpu/launch.cuh"
#include "tests/additions/kernels/dense/added_gpu.h"

namespace approx {
namespace {

void added_weight_gradient(const Arguments<Dense, float>& args, void* stream) {
  launch(AddedWeightGradient{args}, stream);
}

REGISTER_KERNEL(Dense, "added_cuda", added_weight_gradient)
    .computes({Product::kWeightGradient})
    .where([](const Problem& p) { return p.one_group(); })
    .rank(1000);  // never the fastest

}  // namespace
}  // namespace approx
