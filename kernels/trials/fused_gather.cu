#include "kernels/gpu/launch.cuh"
#include "kernels/trials/fused_gather_gpu.h"

namespace approx {
namespace {

template <typename Number>
void launch_weights(const ListedWeights<Number>& on, void* stream) {
  launch(GatherWeights<Number>{on}, stream);
}

template <typename Number>
void launch_sum(const SampleSum<Number>& on, void* stream) {
  if (on.columns <= 64) return launch(SampledSum<Number, 64>{on}, stream);
  launch(SampledSum<Number, 128>{on}, stream);
}

template <typename Number>
void launch_spread(const SampleSpread<Number>& on, void* stream) {
  if (on.kept <= 56) return launch(SampledSpread<Number, 64>{on}, stream);
  launch(SampledSpread<Number, 128>{on}, stream);
}

REGISTER_LAUNCH(ListedWeights<BFloat16>, launch_weights<BFloat16>);
REGISTER_LAUNCH(ListedWeights<Float16>, launch_weights<Float16>);
REGISTER_LAUNCH(SampleSum<BFloat16>, launch_sum<BFloat16>);
REGISTER_LAUNCH(SampleSum<Float16>, launch_sum<Float16>);
REGISTER_LAUNCH(SampleSpread<BFloat16>, launch_spread<BFloat16>);
REGISTER_LAUNCH(SampleSpread<Float16>, launch_spread<Float16>);

}  // namespace
}  // namespace approx
