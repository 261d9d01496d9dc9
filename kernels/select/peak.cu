#include "kernels/gpu/launch.cuh"
#include "kernels/select/peak_gpu.h"

namespace approx {
namespace {

void launch_peak(const PeakArgs& args, void* stream) {
  if (args.co % 4 == 0 && lies_by(4, args.dy)) return launch(PlanePeak<4>{args}, stream);
  launch(PlanePeak<1>{args}, stream);
}

REGISTER_LAUNCH(PeakArgs, launch_peak);

}  // namespace
}  // namespace approx
