#include "kernels/gpu/launch.cuh"
#include "kernels/trials/compress_gpu.h"
#include "kernels/trials/mma_sp_gpu.h"

namespace approx {
namespace {

template <typename Number>
void launch_compress(const CompressArgs<Number>& args, void* stream) {
  if (args.images == 0) return;
  with_compress_kernel(args, [&](const auto& kernel) { launch(kernel, stream); });
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
