// Where the time of a training step goes, on the CPU. Off unless a PhaseClock lives; then a scope
// costs two readings of the clock, and layers compute their products one after the other so that
// each has a time of its own.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace approx {

enum class Phase { kData, kForward, kDataGradient, kWeightGradient, kNormalisation, kOptimizer };
inline constexpr std::array kPhaseNames = std::to_array<std::string_view>(
    {"data", "forward", "data_gradient", "weight_gradient", "normalisation", "optimizer"});

// While it lives, scopes add to it. One at a time, for one training thread: LibTorch runs the
// backward pass of a graph on the CPU in the thread that asked for it.
class PhaseClock {
 public:
  PhaseClock() { current_ = this; }
  ~PhaseClock() { current_ = nullptr; }
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  static bool runs() { return current_ != nullptr; }

  // Nanoseconds, indexed by Phase.
  const std::array<int64_t, kPhaseNames.size()>& spent() const { return spent_; }
  void reset() { spent_ = {}; }

 private:
  friend class PhaseScope;
  static inline PhaseClock* current_ = nullptr;
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

}  // namespace approx
