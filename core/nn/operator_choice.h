// Which operators the layers and batch norms of a network use: LibTorch's, or our own as well.
#pragma once

#include <torch/nn/module.h>

#include "core/config/operator_set.h"

namespace approx {

// Base of modules whose operators can be chosen.
struct OperatorChoice {
  OperatorSet operators = OperatorSet::kBest;

  bool library_alone() const { return operators == OperatorSet::kLibrary; }
};

// Sets `operators` in all modules of a network, from the next forward pass on. Weights stay.
void choose_operators(const torch::nn::Module& network, OperatorSet operators);

}  // namespace approx
