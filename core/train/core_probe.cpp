#include "core/train/core_probe.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"
#include "kernels/probe/fma.h"

namespace approx {
namespace {

using ProbeClock = std::chrono::steady_clock;

constexpr double kProbeSeconds = 1e-3;  // of one measurement: what wakes threads is short beside it
constexpr int kTries = 2;               // an interrupt is no shared core
constexpr int64_t kRepeats = 3;         // of one block
constexpr auto kPause = std::chrono::milliseconds(50);

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

BlockTimer::BlockTimer(CoreProbe probe, int64_t blocks, const std::atomic<bool>& stop,
                       std::function<void()> pause)
    : probe_(std::move(probe)),
      stop_(stop),
      pause_(pause ? std::move(pause) : [] { std::this_thread::sleep_for(kPause); }),
      repeats_left_(blocks),
      pauses_left_(blocks) {
  if (probe_) last_ = probe_();
}

// The share before a block: waits a little where the last one was too small.
double BlockTimer::settle() {
  for (; last_ < kLeastCoreShare && pauses_left_ > 0 && !stop_; --pauses_left_) {
    pause_();
    last_ = probe_();
  }
  return last_;
}

TimedBlock BlockTimer::time(const std::function<int64_t()>& work) {
  TimedBlock block;
  ++blocks_;
  if (!probe_) {
    block.ns = work();
    return block;
  }
  while (true) {
    const double before = settle();
    block.ns = work();
    last_ = probe_();
    block.core_share = std::min(before, last_);
    if (*block.core_share >= kLeastCoreShare || stop_) return block;
    if (block.repeats == kRepeats || repeats_left_ == 0) break;
    ++block.repeats, --repeats_left_;
  }
  ++shared_;
  worst_ = std::min(worst_, *block.core_share);
  return block;
}

std::string BlockTimer::taint() const {
  if (shared_ == 0) return "";
  return fmt::format("its threads shared cores in {} of {} blocks ({:.2f} of a core each at worst)",
                     shared_, blocks_, worst_);
}

}  // namespace approx
