// The common part of methods that prune dY: both gradients of a layer use one pruned tensor.
#pragma once

#include "core/methods/method.h"

namespace approx {

class PruningMethod : public Method {
 public:
  // Both gradients use one stream of draws, whichever is asked for.
  Plan plan(const Operands& operands, const MethodCall& call) final {
    MethodCall common = call;
    common.rng.product = Product::kDataGradient;
    return prune(operands, common);
  }

  bool looks_at_dy_alone() const final { return true; }
  bool plans_once() const final { return true; }

 protected:
  // The plan for `operands`; it may depend on dy alone.
  virtual Plan prune(const Operands& operands, const MethodCall& call) = 0;
};

}  // namespace approx
