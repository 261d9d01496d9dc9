// What the layers of a network multiply in one step.
#pragma once

#include <utility>
#include <vector>

#include "core/config/catalogue.h"
#include "core/train/session.h"
#include "kernels/operands.h"

namespace approx {

// The operands of every layer, in the order of the forward pass. dY is undefined for a layer that
// no gradient reached.
using LayerOperands = std::vector<std::pair<LayerInfo, Operands>>;

// Keeps those of a step, approximated as it is and otherwise the same step: give it to
// Session::step. w is as it was before the step's update.
class OperandProbe final : public StepObserver {
 public:
  void before_forward(Network& network) override;
  void after_backward(Network& network) override;

  // The operands of the last observed step; none are left here.
  LayerOperands take() { return std::exchange(operands_, {}); }

 private:
  LayerOperands operands_;
};

// The operands of an exact forward and backward pass of the next batch. It leaves the session as it
// was: weights, running statistics of norms and the draws of dropout included.
LayerOperands record_exact_pass(Session& session);

}  // namespace approx
