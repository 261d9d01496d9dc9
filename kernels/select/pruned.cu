#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/select/pruned_gpu.h"

namespace approx {
namespace {

template <typename Number>
void launch_stochastic(const StochasticOnGpu<Number>& on, void* stream) {
  with_stochastic_kernel(on, [&](const auto& kernel) { launch(kernel, stream); });
}

template <typename Number>
void launch_mean_magnitude(const MeanMagnitudeArgs<Number>& args, void* stream) {
  with_mean_kernels(args, [&](const auto& kernel) { launch(kernel, stream); });
}

REGISTER_LAUNCH(StochasticOnGpu<float>, launch_stochastic<float>);
REGISTER_LAUNCH(StochasticOnGpu<BFloat16>, launch_stochastic<BFloat16>);
REGISTER_LAUNCH(StochasticOnGpu<Float16>, launch_stochastic<Float16>);
REGISTER_LAUNCH(MeanMagnitudeArgs<float>, launch_mean_magnitude<float>);
REGISTER_LAUNCH(MeanMagnitudeArgs<BFloat16>, launch_mean_magnitude<BFloat16>);
REGISTER_LAUNCH(MeanMagnitudeArgs<Float16>, launch_mean_magnitude<Float16>);

}  // namespace
}  // namespace approx
