// The choice of unbiased N:M pruning in one group of numbers, on plain memory.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace approx {

// How likely the numbers of a group are to stay. kMagnitude: in proportion to their magnitudes, the
// chances of least variance. kEqual: all alike, whatever they are.
enum class Chances : uint8_t { kMagnitude, kEqual };

// A group of numbers of which n stay, each with a known chance. The chance is min(1, a / step) with
// a the magnitude, and `step` such that the chances add up to n. A number that stays is divided by
// its chance. Among fewer than n nonzero numbers all stay. A number that is not finite stays as it
// is, before all others.
class UnbiasedGroup {
 public:
  static constexpr int64_t kMost = 32;

  // `size` numbers, `stride` apart. size <= kMost, n >= 1.
  template <typename Number>
  UnbiasedGroup(const Number* values, int64_t size, int64_t stride, int64_t n, Chances chances)
      : size_(size), left_(n), is_even_(chances == Chances::kEqual) {
    for (int64_t i = 0; i < size; ++i) {
      const auto at = static_cast<size_t>(i);
      value_[at] = static_cast<float>(values[i * stride]);
      weight_[at] = is_even_ ? 1 : std::fabs(double{value_[at]});
      fate_[at] = weight_[at] > 0 ? Fate::kDrawn : Fate::kGoes;
      if (std::isfinite(value_[at])) continue;
      fate_[at] = left_ > 0 ? Fate::kStays : Fate::kGoes;
      left_ -= left_ > 0 ? 1 : 0;
    }
    // Whoever would have a chance of 1 or more stays. The others share what is left of n.
    for (bool again = left_ > 0; again;) {
      again = false;
      const double whole = total();
      const auto places = static_cast<double>(left_);
      for (int64_t i = 0; i < size; ++i) {
        const auto at = static_cast<size_t>(i);
        if (fate_[at] != Fate::kDrawn || weight_[at] * places < whole) continue;
        fate_[at] = Fate::kStays;
        --left_;
        again = left_ > 0;
      }
    }
    step_ = left_ > 0 ? total() / static_cast<double>(left_) : 0;
  }

  // The chance of number i to stay.
  double chance(int64_t i) const {
    const auto at = static_cast<size_t>(i);
    if (fate_[at] == Fate::kStays) return 1;
    return fate_[at] == Fate::kDrawn && step_ > 0 ? weight_[at] / step_ : 0;
  }

  // The group after the draw `u` in (0, 1): systematic sampling. The chances are laid end to end,
  // and whoever covers u, u + 1, ... stays. Results above `most` in magnitude become that.
  void choose(double u, double most, double* chosen) const {
    double passed = 0, next = u * step_;
    int64_t taken = 0;
    for (int64_t i = 0; i < size_; ++i) {
      const auto at = static_cast<size_t>(i);
      const double value = value_[at];
      chosen[i] = fate_[at] == Fate::kStays ? value : 0;
      if (fate_[at] != Fate::kDrawn || taken == left_) continue;
      passed += weight_[at];
      if (!(passed > next)) continue;
      ++taken;
      next = (static_cast<double>(taken) + u) * step_;
      // a / (a / step) is the step.
      const double size = is_even_ ? std::fabs(value) * step_ : step_;
      chosen[i] = std::copysign(size > most ? most : size, value);
    }
  }

 private:
  enum class Fate : uint8_t { kGoes, kDrawn, kStays };

  // The weights of those that are drawn, added in their order.
  double total() const {
    double sum = 0;
    for (int64_t i = 0; i < size_; ++i) {
      const auto at = static_cast<size_t>(i);
      if (fate_[at] == Fate::kDrawn) sum += weight_[at];
    }
    return sum;
  }

  int64_t size_, left_;  // numbers; places for those that are drawn
  bool is_even_;
  double step_ = 0;
  std::array<float, kMost> value_{};
  std::array<double, kMost> weight_{};
  std::array<Fate, kMost> fate_{};
};

}  // namespace approx
