// Undoes what forward passes in training change, for passes that are no part of the training.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <utility>
#include <vector>

#include "core/networks/network.h"

namespace approx {

// Forward passes in training change running statistics, and where generators stand.
class ForwardTraces {
 public:
  ForwardTraces(const Network& network, c10::Device device);

  // Sets all of it as it was at the construction. May be called after each of several passes.
  void remove();

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;  // each with its copy
  std::vector<std::pair<at::Generator, at::Tensor>> generators_;
};

}  // namespace approx
