// Launching what kernels/gpu/kernel.h describes.
#pragma once

#include <cuda_runtime.h>

#include "base/error.h"
#include "kernels/gpu/kernel.h"
#include "kernels/gpu/launches.h"

namespace approx {

class GpuThread {
 public:
  __device__ int64_t block_x() const { return blockIdx.x; }
  __device__ int64_t block_y() const { return blockIdx.y; }
  __device__ int64_t blocks() const { return gridDim.x; }
  __device__ int index() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }

  template <typename T>
  __device__ T* shared(size_t offset = 0) {
    extern __shared__ __align__(16) unsigned char memory[];
    return reinterpret_cast<T*>(memory + offset);
  }

  __device__ void barrier() { __syncthreads(); }
  __device__ bool any(bool mine) { return __syncthreads_or(mine ? 1 : 0) != 0; }

  template <typename T>
  __device__ T shuffle_down(T value, int lanes) {
    return __shfl_down_sync(kAllLanes, value, static_cast<unsigned>(lanes));
  }
  template <typename T>
  __device__ T shuffle(T value, int lane) {
    return __shfl_sync(kAllLanes, value, lane);
  }
  __device__ uint32_t ballot(bool mine) { return __ballot_sync(kAllLanes, mine ? 1 : 0); }

  __device__ void add(int64_t* sum, int64_t value) {
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(value));
  }

 private:
  static constexpr unsigned kAllLanes = 0xFFFFFFFFu;
};

template <typename Kernel>
__global__ void __launch_bounds__(Kernel::kMostThreads) gpu_kernel(Kernel kernel) {
  GpuThread thread;
  kernel(thread);
}

// In the current device's `stream` (a cudaStream_t). Throws Error(kDevice) with the driver's
// reason.
template <typename Kernel>
void launch(const Kernel& kernel, void* stream) {
  const Grid grid = kernel.grid();
  if (grid.x == 0 || grid.y == 0) return;
  const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y));
  gpu_kernel<<<blocks, static_cast<unsigned>(grid.threads), grid.shared,
               static_cast<cudaStream_t>(stream)>>>(kernel);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw Error(ErrorKind::kDevice,
                fmt::format("a kernel could not be launched: {}", cudaGetErrorString(error)));
  }
}

}  // namespace approx
