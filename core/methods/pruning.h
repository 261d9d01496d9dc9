// What methods share that prune dY: both gradients of a layer go by the same pruned tensor.
#pragma once

#include "core/methods/method.h"

namespace approx {

class PruningMethod : public Method {
 public:
  Plan plan(const Operands& operands, const Rng& rng) final {
    auto* scratch = operands.scratch;
    if (scratch != nullptr && scratch->owner == this) return *scratch->plan;
    // One stream for both gradients, whichever comes first.
    Rng common = rng;
    common.product = Product::kDataGradient;
    Plan plan = prune(operands, common);
    if (scratch != nullptr) *scratch = {this, plan};
    return plan;
  }

 protected:
  // Looks at dy, w and geometry alone.
  virtual Plan prune(const Operands& operands, const Rng& rng) = 0;
};

}  // namespace approx
