// Records the operands of a network's layers in one step.
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

// Keeps the operands of a step without changing the step: pass it to Session::step. w is the weight
// before the step's update.
class OperandProbe final : public StepObserver {
 public:
  void before_forward(Network& network) override;
  void after_backward(Network& network) override;

  // Moves out the operands of the last observed step.
  LayerOperands take() { return std::exchange(operands_, {}); }

 private:
  std::vector<bool> reads_images_;  // of the layers, as they were before the step
  LayerOperands operands_;
};

// The operands of an exact forward and backward pass of the next batch. The session stays
// unchanged, with its weights, running statistics of norms and the draws of dropout.
LayerOperands record_exact_pass(Session& session);

}  // namespace approx
