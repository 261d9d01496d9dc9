// The front of speed against loss: which methods are on it, and how sure that is.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace approx {

// A number with its interval, if it has one.
struct Estimate {
  double mid = 0;
  std::optional<double> lo, hi;
};

// One method. Higher speedup is better, lower loss is better; each in any one unit.
struct ParetoPoint {
  Estimate speedup;
  Estimate loss;
};

struct ParetoPlace {
  // Whether the point is on the front, judged by `mid` only: no other point is at least as good in
  // both and better in one. Equal points do not dominate each other.
  bool on_front = true;
  // Whether the worse ends of some other point beat the better ends of this one in both
  // coordinates. A missing end beats nothing and is beaten by nothing. A point that is dominated
  // but not surely is perhaps on the front. The pairs are not adjusted for their number.
  bool surely_dominated = false;

  bool perhaps_on_front() const { return !surely_dominated; }
};

// The place of each point, in the order of `points`.
// Throws Error(kInternal) for a number that is not finite, and for an end on the wrong side of mid.
std::vector<ParetoPlace> pareto_places(std::span<const ParetoPoint> points);

}  // namespace approx
