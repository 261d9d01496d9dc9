// Launching what kernels/gpu/kernel.h describes.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "base/error.h"
#include "kernels/bfloat16.h"
#include "kernels/float16.h"
#include "kernels/gpu/kernel.h"
#include "kernels/gpu/launches.h"
#include "kernels/gpu/tensor_cores.h"

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
  __device__ void add(int32_t* count, int32_t value) { atomicAdd(count, value); }

  __device__ bool last_to_come(uint32_t* arrivals, uint32_t blocks) {
    __threadfence();  // what this thread wrote, before its block says that it came
    __syncthreads();
    // (atomicInc goes back to 0 behind blocks - 1.)
    const bool is_last = threadIdx.x == 0 && atomicInc(arrivals, blocks - 1) == blocks - 1;
    if (!any(is_last)) return false;
    __threadfence();  // what is read from here on, behind what the others wrote
    return true;
  }

  template <int kBytes>
  __device__ void copy(void* to, const void* from) {
    static_assert(kBytes == 8 || kBytes == 16);
    if constexpr (kBytes == 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
                   : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(to)), "l"(from)
                   : "memory");
    }
  }
  __device__ void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int kOpen>
  __device__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kOpen) : "memory");
  }

  template <bool kTransposed>
  __device__ Registers load_matrices(const void* row) {
    Registers r;
    if constexpr (kTransposed) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r.v[0]), "=r"(r.v[1]), "=r"(r.v[2]), "=r"(r.v[3])
                   : "r"(shared_address(row))
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r.v[0]), "=r"(r.v[1]), "=r"(r.v[2]), "=r"(r.v[3])
                   : "r"(shared_address(row))
                   : "memory");
    }
    return r;
  }

  template <typename Number>
  __device__ void multiply(const Registers& a, uint32_t b_first, uint32_t b_second,
                           Floats<4>& sum) {
    static_assert(sizeof(Number) == sizeof(uint16_t));
    if constexpr (std::is_same_v<Number, BFloat16>) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(sum.v[0]), "+f"(sum.v[1]), "+f"(sum.v[2]), "+f"(sum.v[3])
          : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(b_first), "r"(b_second));
    } else {
      static_assert(std::is_same_v<Number, Float16>);
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(sum.v[0]), "+f"(sum.v[1]), "+f"(sum.v[2]), "+f"(sum.v[3])
          : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(b_first), "r"(b_second));
    }
  }

  // The form that asks for ascending indices is the one that is fast everywhere (PTX ISA 9.0,
  // section 9.7.14.6.3).
  template <typename Number, int kSelector>
  __device__ void multiply_sparse(const Registers& a, const Registers& b, uint32_t indices,
                                  Floats<4>& sum) {
    static_assert(sizeof(Number) == sizeof(uint16_t) && (kSelector == 0 || kSelector == 1));
    if constexpr (std::is_same_v<Number, BFloat16>) {
      asm volatile(
          "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
          : "+f"(sum.v[0]), "+f"(sum.v[1]), "+f"(sum.v[2]), "+f"(sum.v[3])
          : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(b.v[0]), "r"(b.v[1]),
            "r"(b.v[2]), "r"(b.v[3]), "r"(indices), "n"(kSelector));
    } else {
      static_assert(std::is_same_v<Number, Float16>);
      asm volatile(
          "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
          : "+f"(sum.v[0]), "+f"(sum.v[1]), "+f"(sum.v[2]), "+f"(sum.v[3])
          : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(b.v[0]), "r"(b.v[1]),
            "r"(b.v[2]), "r"(b.v[3]), "r"(indices), "n"(kSelector));
    }
  }

 private:
  static constexpr unsigned kAllLanes = 0xFFFFFFFFu;

  static __device__ unsigned shared_address(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
  }
};

// Blocks that shall fit on a multiprocessor beside each other: a kernel's kLeastBlocks, which
// limits its registers, or 1.
template <typename Kernel>
constexpr int least_blocks() {
  if constexpr (requires { Kernel::kLeastBlocks; }) {
    return Kernel::kLeastBlocks;
  } else {
    return 1;
  }
}

template <typename Kernel>
__global__ void __launch_bounds__(Kernel::kMostThreads, least_blocks<Kernel>())
    gpu_kernel(Kernel kernel) {
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
  // Of shared memory ptxas reads vectors of 16 bytes of which a kernel uses a part, also the last.
  constexpr size_t kVector = 16;
  const size_t shared = (grid.shared + kVector - 1) / kVector * kVector;
  gpu_kernel<<<blocks, static_cast<unsigned>(grid.threads), shared,
               static_cast<cudaStream_t>(stream)>>>(kernel);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw Error(ErrorKind::kDevice,
                fmt::format("a kernel could not be launched: {}", cudaGetErrorString(error)));
  }
}

}  // namespace approx
