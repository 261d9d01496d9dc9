#include "kernels/gpu/launch.cuh"
#include "kernels/select/pruned_gpu.h"

namespace approx {
namespace {

void launch_stochastic(const StochasticOnGpu& on, void* stream) {
  if (lies_by(4, on.args.dy) && lies_by(4, on.args.pruned)) {
    return launch(StochasticPrune<true>{on}, stream);
  }
  launch(StochasticPrune<false>{on}, stream);
}

void launch_mean_magnitude(const MeanMagnitudeArgs& args, void* stream) {
  const PartialMagnitudes sums{args};
  launch(sums, stream);
  launch(MeanOfPartials{args, sums.grid().x}, stream);
}

REGISTER_LAUNCH(StochasticOnGpu, launch_stochastic);
REGISTER_LAUNCH(MeanMagnitudeArgs, launch_mean_magnitude);

}  // namespace
}  // namespace approx
