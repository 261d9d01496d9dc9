#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/select/magnitude_gpu.h"

namespace approx {
namespace {

template <typename Number>
void launch_magnitudes(const PlaneMagnitudesOnGpu<Number>& args, void* stream) {
  if (args.co % 4 == 0 && lies_by(4, args.dy)) {
    return launch(PlaneMagnitudes<Number, 4>{args}, stream);
  }
  launch(PlaneMagnitudes<Number, 1>{args}, stream);
}

REGISTER_LAUNCH(PlaneMagnitudesOnGpu<float>, launch_magnitudes<float>);
REGISTER_LAUNCH(PlaneMagnitudesOnGpu<BFloat16>, launch_magnitudes<BFloat16>);
REGISTER_LAUNCH(PlaneMagnitudesOnGpu<Float16>, launch_magnitudes<Float16>);

}  // namespace
}  // namespace approx
