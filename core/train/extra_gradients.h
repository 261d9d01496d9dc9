// Gradients of a network that is in training, of passes that are no part of the training.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <string>
#include <vector>

#include "core/networks/network.h"
#include "core/train/forward_traces.h"

namespace approx {

class ExtraGradients {
 public:
  ExtraGradients(const Network& network, c10::Device device);

  // The parameters that train, and their names.
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  const std::vector<std::string>& names() const { return names_; }

  // The gradients of `loss`, which a forward pass of the network has made, by parameter. Undefined
  // for parameters without a part in it. Buffers and generators are afterwards as they were at the
  // construction. Gradients that parameters have stay.
  std::vector<at::Tensor> of(const at::Tensor& loss);

 private:
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  ForwardTraces traces_;
};

}  // namespace approx
