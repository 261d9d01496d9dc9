#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/select/nm_gpu.h"

namespace approx {
namespace {

template <typename Number>
void launch_nm(const NmOnGpu<Number>& on, void* stream) {
  if (on.images == 0) return;
  with_nm_kernel(on, [&](const auto& kernel) { launch(kernel, stream); });
}

REGISTER_LAUNCH(NmOnGpu<float>, launch_nm<float>);
REGISTER_LAUNCH(NmOnGpu<BFloat16>, launch_nm<BFloat16>);
REGISTER_LAUNCH(NmOnGpu<Float16>, launch_nm<Float16>);

}  // namespace
}  // namespace approx
