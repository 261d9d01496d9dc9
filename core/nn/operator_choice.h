// Whose operators the layers and batch norms of a network use.
#pragma once

#include <torch/nn/module.h>

#include "core/config/operator_set.h"

namespace approx {

// What a module derives from whose operators can be chosen.
struct OperatorChoice {
  OperatorSet operators = OperatorSet::kBest;

  bool library_alone() const { return operators == OperatorSet::kLibrary; }
};

// Sets it in all modules of a network. Takes effect from the next forward pass on; weights stay.
void choose_operators(const torch::nn::Module& network, OperatorSet operators);

}  // namespace approx
