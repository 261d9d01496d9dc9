// Which parameters of a network a recipe treats in a way of their own.
#pragma once

#include <torch/nn/module.h>

#include <set>
#include <string>

namespace approx {

// The names of the biases of a network's batch norms, as named_parameters() has them.
std::set<std::string> norm_biases(const torch::nn::Module& network);

}  // namespace approx
