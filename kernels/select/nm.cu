#include "kernels/gpu/launch.cuh"
#include "kernels/select/nm_gpu.h"

namespace approx {
namespace {

void launch_nm(const NmOnGpu& on, void* stream) {
  if (on.images == 0) return;
  switch (on.args.m) {
    case 2:
      return launch(NmPruneFours<2>{on}, stream);
    case 4:
      return launch(NmPruneFours<4>{on}, stream);
    default:
      return launch(NmPruneLanes{on}, stream);
  }
}

REGISTER_LAUNCH(NmOnGpu, launch_nm);

}  // namespace
}  // namespace approx
