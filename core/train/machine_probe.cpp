#include "core/train/machine_probe.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "kernels/probe/clock.h"
#include "kernels/probe/fma.h"

namespace approx {
namespace {

using ProbeClock = std::chrono::steady_clock;

constexpr double kProbeSeconds = 1e-3;  // of one measurement: what wakes threads is short beside it
constexpr int kTries = 2;               // an interrupt is no shared core

}  // namespace

FmaProbe::FmaProbe() {
  constexpr int64_t kMostRounds = int64_t{1} << 30;
  rate(1);  // the first call looks for the instruction set
  for (; rounds_ < kMostRounds; rounds_ *= 2) {
    for (int i = 0; i < kTries; ++i) alone_ = std::max(alone_, rate(1));
    if (static_cast<double>(rounds_) >= kProbeSeconds * alone_) break;
  }
}

double FmaProbe::rate(int64_t threads) const {
  std::atomic<float> sink = 0;  // what is not used is not computed
  const auto before = ProbeClock::now();
  at::parallel_for(0, threads, 1, [&](int64_t, int64_t) { sink.store(fma_rounds_simd(rounds_)); });
  const std::chrono::duration<double> spent = ProbeClock::now() - before;
  return static_cast<double>(threads * rounds_) / std::max(spent.count(), 1e-9);
}

double FmaProbe::operator()() {
  const int64_t threads = at::get_num_threads();
  double together = 0;
  for (int i = 0; i < kTries; ++i) {
    const double alone = rate(1);
    alone_ = std::max(alone_, alone);
    together = std::max(together, threads > 1 ? rate(threads) : alone);
  }
  return together / (static_cast<double>(threads) * alone_);
}

double FmaProbe::ceiling() const {
  constexpr int kCeilingTries = 20;
  double rounds = 0;
  for (int i = 0; i < kCeilingTries; ++i) rounds = std::max(rounds, rate(at::get_num_threads()));
  return rounds * static_cast<double>(fma_round_flops_simd());
}

MachineProbe cpu_probe() {
  return [shares = FmaProbe()]() mutable {
    return MachineState{.core_share = shares(), .clock_mhz = 1e-6 * core_clock_hz()};
  };
}

MachineProbe gpu_probe(std::shared_ptr<GpuMonitor> gpu) {
  if (!gpu) return {};
  return [gpu = std::move(gpu)] {
    return MachineState{.clock_mhz = gpu->sm_mhz(), .slowed_by = gpu->slowed_by()};
  };
}

}  // namespace approx
