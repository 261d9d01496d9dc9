#include "core/library/cold.h"

#include <ATen/Parallel.h>
#include <ATen/ops/count_nonzero.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/train/gpu_monitor.h"

namespace approx {
namespace {

int64_t flushed_bytes(c10::Device device) {
  constexpr int64_t kOwnCache = int64_t{8} << 20;  // of a core, and more
  const int64_t shared = 2 * last_cache_bytes(device);
  return device.is_cpu() ? std::max(shared, at::get_num_threads() * kOwnCache) : shared;
}

}  // namespace

int64_t last_cache_bytes(c10::Device device) {
  constexpr int64_t kCpu = int64_t{64} << 20, kGpu = int64_t{128} << 20;
  if (device.is_cpu()) {
    const long told = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return told > 0 ? static_cast<int64_t>(told) : kCpu;
  }
  const Json gpu = gpu_description(device);
  const int64_t told = gpu.is_object() ? gpu.value("l2_bytes", int64_t{0}) : 0;
  return told > 0 ? told : kGpu;
}

CacheFlush::CacheFlush(c10::Device device)
    : data_(at::zeros({flushed_bytes(device) / static_cast<int64_t>(sizeof(float))},
                      at::TensorOptions().device(device))) {}

void CacheFlush::operator()() {
  value_ = value_ == 0 ? 1 : 0;
  if (!data_.is_cpu()) {
    data_.fill_(value_);
    return;
  }
  // Each thread writes a part of its own, so that its own core's cache is full of that.
  auto* numbers = data_.mutable_data_ptr<float>();
  const int64_t threads = at::get_num_threads(), count = data_.numel();
  at::parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
    std::fill(numbers + count * begin / threads, numbers + count * end / threads, value_);
  });
}

int64_t CacheFlush::written() const {
  return data_.count_nonzero().item<int64_t>() * static_cast<int64_t>(sizeof(float));
}

double cold_nanoseconds(c10::Device device, CacheFlush& flush, const std::function<void()>& work) {
  if (device.is_cpu()) {
    using ColdClock = std::chrono::steady_clock;
    flush();
    const auto begin = ColdClock::now();
    work();
    return std::chrono::duration<double, std::nano>(ColdClock::now() - begin).count();
  }
  const c10::impl::VirtualGuardImpl guard(device.type());
  const auto stream = guard.getStream(device);
  c10::Event begin(device.type(), c10::EventFlag::BACKEND_DEFAULT);
  c10::Event end(device.type(), c10::EventFlag::BACKEND_DEFAULT);
  flush();
  begin.record(stream);
  work();
  end.record(stream);
  end.synchronize();
  return 1e6 * begin.elapsedTime(end);
}

}  // namespace approx
