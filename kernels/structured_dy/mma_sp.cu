#include "kernels/gpu/launch.cuh"
#include "kernels/structured_dy/compress_gpu.h"
#include "kernels/structured_dy/mma_sp_gpu.h"

namespace approx {
namespace {

template <typename Number>
void launch_compress(const CompressArgs<Number>& args, void* stream) {
  if (args.images == 0) return;
  if (args.args.m == 2) return launch(CompressTwoOfFour<Number, 2>{args}, stream);
  launch(CompressTwoOfFour<Number, 4>{args}, stream);
}

template <typename Number>
void launch_gradient(const SparseGradientArgs<Number>& args, void* stream) {
  launch(SparseDataGradient<Number>{args}, stream);
}

REGISTER_LAUNCH(CompressArgs<BFloat16>, launch_compress<BFloat16>);
REGISTER_LAUNCH(CompressArgs<Float16>, launch_compress<Float16>);
REGISTER_LAUNCH(SparseGradientArgs<BFloat16>, launch_gradient<BFloat16>);
REGISTER_LAUNCH(SparseGradientArgs<Float16>, launch_gradient<Float16>);

}  // namespace
}  // namespace approx
