#include <algorithm>

#include "kernels/float16.h"
#include "kernels/gpu/launch.cuh"
#include "kernels/norm/norm_gpu.h"

namespace approx {
namespace {

// What blocks count on: zeros when the library is opened, and behind every launch.
__device__ uint32_t arrivals[most_norm_arrivals(kMostNormChannels)];

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  throw Error(ErrorKind::kDevice,
              fmt::format("a batch norm could not be started: {}", cudaGetErrorString(error)));
}

// The most blocks along x that leave sums: four for each multiprocessor. On an H200, which has 132,
// 528 were the fastest of 264, 528 and 1024.
int64_t most_sum_blocks() {
  constexpr int kBlocksEach = 4;
  int device = 0, multiprocessors = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return std::min(kMostRowBlocks, int64_t{kBlocksEach} * multiprocessors);
}

// Sets how the blocks of a launch are counted.
template <typename Args>
Args counted(Args on) {
  void* counts = nullptr;
  check(cudaGetSymbolAddress(&counts, arrivals));
  on.room.arrivals = static_cast<uint32_t*>(counts);
  on.most_blocks = most_sum_blocks();
  return on;
}

template <typename Args>
void launch_pass(const Args& on, void* stream) {
  with_norm_kernel(on, [&](const auto& kernel) { launch(kernel, stream); });
}
template <typename Args>
void launch_sums(const Args& on, void* stream) {
  launch_pass(counted(on), stream);
}

REGISTER_LAUNCH(NormStatisticsOnGpu<float>, launch_sums<NormStatisticsOnGpu<float>>);
REGISTER_LAUNCH(NormApplyOnGpu<float>, launch_pass<NormApplyOnGpu<float>>);
REGISTER_LAUNCH(NormSumsOnGpu<float>, launch_sums<NormSumsOnGpu<float>>);
REGISTER_LAUNCH(NormGradientOnGpu<float>, launch_pass<NormGradientOnGpu<float>>);
REGISTER_LAUNCH(NormStatisticsOnGpu<BFloat16>, launch_sums<NormStatisticsOnGpu<BFloat16>>);
REGISTER_LAUNCH(NormApplyOnGpu<BFloat16>, launch_pass<NormApplyOnGpu<BFloat16>>);
REGISTER_LAUNCH(NormSumsOnGpu<BFloat16>, launch_sums<NormSumsOnGpu<BFloat16>>);
REGISTER_LAUNCH(NormGradientOnGpu<BFloat16>, launch_pass<NormGradientOnGpu<BFloat16>>);
REGISTER_LAUNCH(NormStatisticsOnGpu<Float16>, launch_sums<NormStatisticsOnGpu<Float16>>);
REGISTER_LAUNCH(NormApplyOnGpu<Float16>, launch_pass<NormApplyOnGpu<Float16>>);
REGISTER_LAUNCH(NormSumsOnGpu<Float16>, launch_sums<NormSumsOnGpu<Float16>>);
REGISTER_LAUNCH(NormGradientOnGpu<Float16>, launch_pass<NormGradientOnGpu<Float16>>);

}  // namespace
}  // namespace approx
