// Times of work that finds nothing in the caches.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>

namespace approx {

// Bytes of the largest cache between a device and its memory, as the device says; a guess that is
// not too small where it does not.
int64_t last_cache_bytes(c10::Device device);

// Puts other data in place of all that is in the caches of a device. The memory for that is twice
// the last cache, and on the CPU at least as much for each thread as the cache of its own core has.
class CacheFlush {
 public:
  explicit CacheFlush(c10::Device device);
  void operator()();
  int64_t bytes() const { return static_cast<int64_t>(data_.nbytes()); }
  // How many of them are not zero: all after every other flush.
  int64_t written() const;

 private:
  at::Tensor data_;  // float
  float value_ = 0;
};

// Nanoseconds of `work`, called once after a flush and awaited. Of a GPU's own clock, between two
// events: what starting takes the host lies in the time of the flush.
double cold_nanoseconds(c10::Device device, CacheFlush& flush, const std::function<void()>& work);

}  // namespace approx
