#include "core/engine/roofline.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/engine/cold.h"
#include "core/train/device.h"
#include "core/train/machine_probe.h"
#include "core/train/precision.h"

namespace approx {
namespace {

// The least time of some, since nothing makes a machine faster than it is.
template <typename Work>
double best_seconds(c10::Device device, int tries, const Work& work) {
  using RooflineClock = std::chrono::steady_clock;
  double best = 0;
  for (int i = 0; i <= tries; ++i) {
    const auto begin = RooflineClock::now();
    work();
    synchronize_device(device);
    const double spent = std::chrono::duration<double>(RooflineClock::now() - begin).count();
    if (i == 1 || (i > 1 && spent < best)) best = spent;  // the first warms up
  }
  return std::max(best, 1e-9);
}

double copied_bytes_a_second(c10::Device device) {
  constexpr int64_t kLeast = int64_t{64} << 20, kMost = int64_t{512} << 20;
  constexpr int kTries = 8;
  const int64_t numbers =
      std::clamp(2 * last_cache_bytes(device), kLeast, kMost) / static_cast<int64_t>(sizeof(float));
  const auto from = at::ones({numbers}, at::TensorOptions().device(device));
  const auto to = at::empty_like(from);
  const double seconds = best_seconds(device, kTries, [&] { copy_numbers(from, to); });
  return 2.0 * static_cast<double>(from.nbytes()) / seconds;
}

double matrix_flops_a_second(c10::Device device, Precision precision) {
  constexpr int64_t kSide = 8192;
  constexpr int kTries = 6;
  const auto a =
      at::ones({kSide, kSide}, at::TensorOptions().device(device).dtype(operand_type(precision)));
  const double seconds = best_seconds(device, kTries, [&] { at::mm(a, a); });
  return 2.0 * static_cast<double>(kSide) * kSide * kSide / seconds;
}

}  // namespace

void copy_numbers(const at::Tensor& from, const at::Tensor& to) {
  if (!from.is_cpu()) {
    to.copy_(from);
    return;
  }
  const auto* source = from.const_data_ptr<float>();
  auto* target = to.mutable_data_ptr<float>();
  at::parallel_for(0, from.numel(), 1 << 20, [&](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin) * sizeof(float));
  });
}

Roofline roofline_of(c10::Device device, Precision precision) {
  Roofline roofline;
  roofline.bytes = copied_bytes_a_second(device);
  if (!device.is_cpu()) {
    roofline.flops = matrix_flops_a_second(device, precision);
  } else if (!is_half(precision)) {
    roofline.flops = FmaProbe().ceiling();
  }
  return roofline;
}

}  // namespace approx
