// How the time of a training step on the CPU splits into phases. Scopes measure only while a
// PhaseClock lives. A scope then reads the clock twice. Layers compute their gradients one after
// the other, so that each has its own time, unless the clock is GradientTimes::kTogether.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace approx {

enum class Phase { kData, kForward, kDataGradient, kWeightGradient, kNormalisation, kOptimizer };
inline constexpr std::array kPhaseNames = std::to_array<std::string_view>(
    {"data", "forward", "data_gradient", "weight_gradient", "normalisation", "optimizer"});

// How to time a layer's two gradients: each for itself, or as steps compute them, which is together
// where that is faster.
enum class GradientTimes { kApart, kTogether };

// While one lives, scopes add to it. At most one may live, for one training thread. LibTorch runs
// the backward pass of a graph on the CPU in the thread that asked for it.
class PhaseClock {
 public:
  explicit PhaseClock(GradientTimes gradients = GradientTimes::kApart) : gradients_(gradients) {
    current_ = this;
  }
  ~PhaseClock() { current_ = nullptr; }
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  static bool runs() { return current_ != nullptr; }
  static bool takes_gradients_apart() {
    return runs() && current_->gradients_ == GradientTimes::kApart;
  }

  // Nanoseconds, indexed by Phase.
  const std::array<int64_t, kPhaseNames.size()>& spent() const { return spent_; }

  // Nanoseconds in the data and weight gradients of convolutions, with all work of a method for
  // them. Linear layers do not count.
  int64_t convolutions_backward() const { return convolutions_backward_; }

  void reset() {
    spent_ = {};
    convolutions_backward_ = 0;
  }

 private:
  friend class PhaseScope;
  friend class ConvolutionBackwardScope;
  static inline PhaseClock* current_ = nullptr;
  GradientTimes gradients_;
  int64_t convolutions_backward_ = 0;
  std::array<int64_t, kPhaseNames.size()> spent_{};
};

class PhaseScope {
 public:
  explicit PhaseScope(Phase phase) : phase_(phase) {
    if (PhaseClock::runs()) began_ = std::chrono::steady_clock::now();
  }
  ~PhaseScope() {
    if (!PhaseClock::runs()) return;
    const auto spent = std::chrono::steady_clock::now() - began_;
    PhaseClock::current_->spent_[static_cast<size_t>(phase_)] +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Phase phase_;
  std::chrono::steady_clock::time_point began_;
};

// The scope of both gradients of a layer. It adds to convolutions_backward() if `counts`: if the
// layer is a convolution.
class ConvolutionBackwardScope {
 public:
  explicit ConvolutionBackwardScope(bool counts) : counts_(counts && PhaseClock::runs()) {
    if (counts_) began_ = std::chrono::steady_clock::now();
  }
  ~ConvolutionBackwardScope() {
    if (!counts_ || !PhaseClock::runs()) return;
    const auto spent = std::chrono::steady_clock::now() - began_;
    PhaseClock::current_->convolutions_backward_ +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
  }
  ConvolutionBackwardScope(const ConvolutionBackwardScope&) = delete;
  ConvolutionBackwardScope& operator=(const ConvolutionBackwardScope&) = delete;

 private:
  bool counts_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace approx
