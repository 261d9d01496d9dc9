// The parameters of a network that a recipe treats in a special way.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <set>
#include <string>

namespace approx {

class Network;

// The names of the biases of a network's batch norms, as in named_parameters().
std::set<std::string> norm_biases(const torch::nn::Module& network);

// The bias [Co] of the network's first convolution. Undefined if it has no bias, or the network no
// convolution.
at::Tensor first_convolution_bias(Network& network);

}  // namespace approx
