#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/select/nm_gpu.h"

namespace approx {
namespace {

template <typename Number>
void launch_nm(const NmOnGpu<Number>& on, void* stream) {
  if (on.images == 0) return;
  switch (on.args.m) {
    case 2:
      return launch(NmPruneFours<Number, 2>{on}, stream);
    case 4:
      return launch(NmPruneFours<Number, 4>{on}, stream);
    default:
      return launch(NmPruneLanes<Number>{on}, stream);
  }
}

REGISTER_LAUNCH(NmOnGpu<float>, launch_nm<float>);
REGISTER_LAUNCH(NmOnGpu<BFloat16>, launch_nm<BFloat16>);
REGISTER_LAUNCH(NmOnGpu<Float16>, launch_nm<Float16>);

}  // namespace
}  // namespace approx
