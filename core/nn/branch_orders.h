// The orders of a residual branch for a step, as the schedule gives them.
#pragma once

namespace approx {

struct BranchOrders {
  // The branch is computed without a graph. Its output has no gradient, and none of its activations
  // is kept.
  bool stopped = false;
  // A factor on the gradient that enters the branch from its output, and so on every gradient of
  // the branch; above 0.
  double scale = 1;

  bool plain() const { return !stopped && scale == 1; }
  bool operator==(const BranchOrders&) const = default;
};

}  // namespace approx
