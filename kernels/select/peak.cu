#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/select/peak_gpu.h"

namespace approx {
namespace {

template <typename Number>
void launch_peak(const PeakArgs<Number>& args, void* stream) {
  const auto run = [&](const auto& kernel) { launch(kernel, stream); };
  if (args.co % 4 == 0 && lies_by(4, args.dy)) return with_peak_kernel<4>(args, run);
  with_peak_kernel<1>(args, run);
}

REGISTER_LAUNCH(PeakArgs<float>, launch_peak<float>);
REGISTER_LAUNCH(PeakArgs<BFloat16>, launch_peak<BFloat16>);
REGISTER_LAUNCH(PeakArgs<Float16>, launch_peak<Float16>);

}  // namespace
}  // namespace approx
