#include "core/nn/operator_choice.h"

namespace approx {

void choose_operators(const torch::nn::Module& network, OperatorSet operators) {
  for (const auto& module : network.modules()) {
    if (auto* choice = dynamic_cast<OperatorChoice*>(module.get())) choice->operators = operators;
  }
}

}  // namespace approx
