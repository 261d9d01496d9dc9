// Which parameters of a network a recipe treats in a way of their own.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <set>
#include <string>

namespace approx {

class Network;

// The names of the biases of a network's batch norms, as named_parameters() has them.
std::set<std::string> norm_biases(const torch::nn::Module& network);

// The bias [Co] of the network's first convolution; undefined where it has none, or the network no
// convolution.
at::Tensor first_convolution_bias(Network& network);

}  // namespace approx
