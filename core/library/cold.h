// Times of work that starts with cold caches.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>

namespace approx {

// Bytes of the largest cache between a device and its memory. If the device does not say, a guess
// that is not too small.
int64_t last_cache_bytes(c10::Device device);

// Replaces all data in the caches of a device. Its memory is twice the last cache. On the CPU it is
// also at least as much for each thread as the cache of the thread's core.
class CacheFlush {
 public:
  explicit CacheFlush(c10::Device device);
  void operator()();
  int64_t bytes() const { return static_cast<int64_t>(data_.nbytes()); }
  // Bytes of the memory that are not zero: all after every other flush.
  int64_t written() const;

 private:
  at::Tensor data_;  // float
  float value_ = 0;
};

// Nanoseconds of `work`, called once after a flush and awaited. On a GPU they are by the GPU's own
// clock, between two events: the host starts the work while the flush runs.
double cold_nanoseconds(c10::Device device, CacheFlush& flush, const std::function<void()>& work);

}  // namespace approx
