// Points in the work of a GPU.
#pragma once

#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>

namespace approx {

// Not copied: one place in one stream's work at a time.
class CudaEvent {
 public:
  CudaEvent() { C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~CudaEvent() { static_cast<void>(cudaEventDestroy(event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  // It is behind all that was asked of `stream` so far.
  void record(cudaStream_t stream) { C10_CUDA_CHECK(cudaEventRecord(event_, stream)); }

  // What is asked of `stream` from now on waits for it.
  void hold(cudaStream_t stream) const { C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_)); }

  // Whether the GPU has come to it. Throws what the GPU says is wrong.
  bool is_reached() const {
    const cudaError_t found = cudaEventQuery(event_);
    if (found == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    C10_CUDA_CHECK(found);
    return true;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Whether what is asked of `stream` is captured, and not done.
inline bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace approx
