// Where the time of a training step goes, on the CPU. Off unless a PhaseClock lives; then a scope
// costs two readings of the clock, and layers compute their products one after the other so that
// each has a time of its own; but where the clock is one of whole backward passes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace approx {

enum class Phase { kData, kForward, kDataGradient, kWeightGradient, kNormalisation, kOptimizer };
inline constexpr std::array kPhaseNames = std::to_array<std::string_view>(
    {"data", "forward", "data_gradient", "weight_gradient", "normalisation", "optimizer"});

// Whether a layer's gradients are to be timed each for itself, or as steps compute them: together,
// where that is faster.
enum class GradientTimes { kApart, kTogether };

// While it lives, scopes add to it. One at a time, for one training thread: LibTorch runs the
// backward pass of a graph on the CPU in the thread that asked for it.
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

  // Nanoseconds in the data and weight gradients of convolutions, with everything that a method
  // does for them; linear layers are not in it.
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

// Around both gradients of a layer; `counts` where it is a convolution.
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
