// What methods share that prune dY: both gradients of a layer go by the same pruned tensor.
#pragma once

#include "core/methods/kept_before.h"
#include "core/methods/method.h"
#include "kernels/kernel.h"
#include "kernels/rules.h"

namespace approx {

class PruningMethod : public Method {
 public:
  Plan plan(const Operands& operands, const MethodCall& call) final {
    auto* scratch = call.scratch;
    if (scratch != nullptr && scratch->owner == this) return *scratch->plan;
    Plan plan = prune(operands, common(call));
    if (auto* pruned = std::get_if<PrunedDY>(&plan)) {
      // What is counted on a device stays there; only rules that ask are told of the step before.
      if (!pruned->kept.is_cpu() && rules_wait_for_density() && density_decides(operands)) {
        pruned->expected_density = kept_before_.exchange(*pruned, call.rng.layer);
      }
    }
    if (scratch != nullptr) *scratch = {this, plan};
    return plan;
  }

  bool looks_at_dy_alone() const final { return true; }

  std::string_view waits_for() const override {
    return rules_wait_for_density() ? "what it kept the step before, by which a kernel is chosen"
                                    : "";
  }

  std::unique_ptr<GradientVisitor> visitor(const MethodCall& call) final {
    return pruning_visitor(common(call));
  }

 protected:
  // Looks at dy alone.
  virtual Plan prune(const Operands& operands, const MethodCall& call) = 0;

  virtual std::unique_ptr<GradientVisitor> pruning_visitor(const MethodCall& /*call*/) {
    return nullptr;
  }

 private:
  KeptBefore kept_before_;

  // One stream for both gradients, whichever comes first.
  static MethodCall common(MethodCall call) {
    call.rng.product = Product::kDataGradient;
    return call;
  }
};

}  // namespace approx
