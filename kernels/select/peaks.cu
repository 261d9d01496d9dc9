#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/select/peaks_gpu.h"

namespace approx {
namespace {

template <typename Number>
void launch_peaks(const PeaksArgs<Number>& args, void* stream) {
  if (args.k <= 2) return launch(PlanePeaks<Number, 2>{args}, stream);
  if (args.k <= 4) return launch(PlanePeaks<Number, 4>{args}, stream);
  static_assert(kMostPeaks == 8);
  launch(PlanePeaks<Number, 8>{args}, stream);
}

REGISTER_LAUNCH(PeaksArgs<float>, launch_peaks<float>);
REGISTER_LAUNCH(PeaksArgs<BFloat16>, launch_peaks<BFloat16>);
REGISTER_LAUNCH(PeaksArgs<Float16>, launch_peaks<Float16>);

}  // namespace
}  // namespace approx
