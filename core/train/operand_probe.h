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

  // Of the last step that it was given to.
  LayerOperands take() { return std::exchange(operands_, {}); }

 private:
  LayerOperands operands_;
};

// Those of a forward and backward pass of the next batch, in which nothing is approximated and
// after which the session is what it was before: nothing is updated, running statistics of norms
// and the draws of dropout neither.
LayerOperands record_exact_pass(Session& session);

}  // namespace approx
