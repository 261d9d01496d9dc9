#include "results/stats/pareto.h"

#include <algorithm>
#include <cmath>

#include "results/stats/stats.h"

namespace approx {
namespace {

void check_estimate(const Estimate& estimate) {
  const double lo = estimate.lo.value_or(estimate.mid), hi = estimate.hi.value_or(estimate.mid);
  const bool finite = std::isfinite(estimate.mid) && std::isfinite(lo) && std::isfinite(hi);
  require(finite && lo <= estimate.mid && estimate.mid <= hi,
          "a point of a front needs lo <= mid <= hi, all finite");
}

bool dominates(const ParetoPoint& a, const ParetoPoint& b) {
  return a.speedup.mid >= b.speedup.mid && a.loss.mid <= b.loss.mid &&
         (a.speedup.mid > b.speedup.mid || a.loss.mid < b.loss.mid);
}

bool surely_dominates(const ParetoPoint& a, const ParetoPoint& b) {
  return a.speedup.lo && b.speedup.hi && *a.speedup.lo > *b.speedup.hi &&  //
         a.loss.hi && b.loss.lo && *a.loss.hi < *b.loss.lo;
}

}  // namespace

std::vector<ParetoPlace> pareto_places(std::span<const ParetoPoint> points) {
  for (const ParetoPoint& point : points) {
    check_estimate(point.speedup);
    check_estimate(point.loss);
  }
  std::vector<ParetoPlace> places(points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    for (const ParetoPoint& other : points) {
      if (dominates(other, points[i])) places[i].on_front = false;
      if (surely_dominates(other, points[i])) places[i].surely_dominated = true;
    }
  }
  return places;
}

}  // namespace approx
