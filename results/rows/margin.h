// How much accuracy a method may lose.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace approx {

// Percentage points, or a share of what exact training gets wrong: half a point is little of an
// error of 50 % and most of one of 0.7 %.
class Margin {
 public:
  constexpr Margin(double points) : value_(points) {}  // NOLINT(google-explicit-constructor)

  static constexpr Margin of_error(double share) {
    Margin margin(share);
    margin.of_error_ = true;
    return margin;
  }

  // In percentage points, where exact training gets `error` percent wrong.
  constexpr double points(double error) const { return of_error_ ? value_ * error : value_; }

  // "0.5 points", "10 % of the dense error".
  std::string text() const;

 private:
  double value_;
  bool of_error_ = false;
};

// "0.5" or "0.5pp" points, "10%" of the dense error; points from 0.001 to 100, shares from 0.1 % to
// 1000 %. None for anything else.
std::optional<Margin> parse_margin(std::string_view text);

}  // namespace approx
