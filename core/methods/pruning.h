// What methods share that prune dY: both gradients of a layer go by the same pruned tensor.
#pragma once

#include "core/methods/method.h"

namespace approx {

class PruningMethod : public Method {
 public:
  Plan plan(const Operands& operands, const MethodCall& call) final {
    auto* scratch = call.scratch;
    if (scratch != nullptr && scratch->owner == this) return *scratch->plan;
    // One stream for both gradients, whichever comes first.
    MethodCall common = call;
    common.rng.product = Product::kDataGradient;
    Plan plan = prune(operands, common);
    if (scratch != nullptr) *scratch = {this, plan};
    return plan;
  }

  bool looks_at_dy_alone() const final { return true; }

 protected:
  // Looks at dy alone.
  virtual Plan prune(const Operands& operands, const MethodCall& call) = 0;
};

}  // namespace approx
