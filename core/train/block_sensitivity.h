// How much residual blocks matter to a gradient, for rules that share their chance out by it
// (Rule::rates).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/networks/network.h"

namespace approx {

// Returns for each branch, by its block, how much the gradients of one batch change if the branch
// has no backward pass. That is the sum over parameters of (|g| - |g'|)^2. Here |g| is the
// Euclidean norm of the exact gradient, and |g'| that without the branch, 0 if there is none. The
// published code of DropBP (Woo et al. 2024) measures so.
//
// `loss` makes a forward pass of the network in training and returns its loss. It is called once
// for the exact gradient and once for each branch, with equal draws. All layers and branches must
// have no orders. Buffers, generators and gradients are afterwards as before. Waits for the device.
std::map<std::string, double> block_sensitivities(Network& network,
                                                  const std::vector<BranchImpl*>& branches,
                                                  at::Device device,
                                                  const std::function<at::Tensor()>& loss);

}  // namespace approx
