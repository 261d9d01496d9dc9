#include "core/library/roofline.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/library/cold.h"
#include "core/train/device.h"
#include "core/train/machine_probe.h"
#include "core/train/precision.h"
#include "kernels/gpu/facts.h"
#include "kernels/gpu/start.h"

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
  // Several at a time on a GPU: to ask for one and to hear of its end takes a tenth as long as the
  // copy.
  const int copies = device.is_cpu() ? 1 : 16;
  const double seconds = best_seconds(device, kTries, [&] {
    for (int i = 0; i < copies; ++i) copy_numbers(from, to);
  });
  return 2.0 * copies * static_cast<double>(from.nbytes()) / seconds;
}

// Nothing is measured where it is not known how large the cache is, or nobody can copy within it.
void measure_l2(c10::Device device, Roofline& roofline) {
  if (!can_start<CopyRoundsArgs>(device) || gpu_facts_reader() == nullptr) return;
  constexpr int kTries = 8;
  const GpuFacts facts = gpu_facts_reader()(device.index());
  CopyRoundsArgs copy = copy_within(facts.l2_bytes, facts.multiprocessors);
  if (copy.count == 0) return;
  const auto from = at::ones({copy.count}, at::TensorOptions().device(device));
  const auto to = at::empty_like(from);
  copy.from = from.const_data_ptr<float>(), copy.to = to.mutable_data_ptr<float>();
  const double seconds = best_seconds(device, kTries, [&] { start(copy, device); });
  roofline.l2_size = static_cast<double>(facts.l2_bytes);
  roofline.l2_bytes = 2.0 * static_cast<double>(from.nbytes() * copy.rounds) / seconds;
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

CopyRoundsArgs copy_within(int64_t l2_size, int64_t multiprocessors) {
  constexpr int64_t kMoved = int64_t{4} << 30;  // bytes of a launch: a millisecond or so
  constexpr int64_t kBlocks = 4;                // that each multiprocessor of any GPU has room for
  constexpr int64_t kVector = 4;                // numbers
  const int64_t numbers = l2_size / 4 / static_cast<int64_t>(sizeof(float)) / kVector * kVector;
  const int64_t moved = 2 * numbers * static_cast<int64_t>(sizeof(float));
  return {.count = numbers,
          .rounds = moved == 0 ? 0 : (kMoved + moved - 1) / moved,
          .blocks = kBlocks * multiprocessors};
}

Roofline roofline_of(c10::Device device, Precision precision) {
  Roofline roofline;
  roofline.bytes = copied_bytes_a_second(device);
  if (!device.is_cpu()) {
    roofline.flops = matrix_flops_a_second(device, precision);
    measure_l2(device, roofline);
  } else if (!is_half(precision)) {
    roofline.flops = FmaProbe().ceiling();
  }
  return roofline;
}

}  // namespace approx
