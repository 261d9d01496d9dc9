// A point in the work of a GPU.
#pragma once

#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>

namespace approx {

// Not copied: it marks one point of one stream at a time.
class CudaEvent {
 public:
  CudaEvent() { C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~CudaEvent() { static_cast<void>(cudaEventDestroy(event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  // Marks the end of the work that `stream` was given so far.
  void record(cudaStream_t stream) { C10_CUDA_CHECK(cudaEventRecord(event_, stream)); }

  // Makes later work on `stream` wait for the mark.
  void hold(cudaStream_t stream) const { C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_)); }

  // Whether the GPU has reached the mark. Throws the GPU's error.
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

// Whether work on `stream` is being captured instead of done.
inline bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace approx
