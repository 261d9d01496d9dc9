// Keeps the parameters of frozen layers out of the backward pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace approx {

// The layers that do not train at a step, in the order of the forward pass.
struct FrozenLayers {
  std::vector<bool> layers;  // empty: every layer trains
  size_t leading = 0;        // so many layers from the first on train nothing

  bool operator==(const FrozenLayers&) const = default;
};

class FrozenParameters {
 public:
  // `parameters`: those that train, with their names, in the order of the forward pass. `layers`:
  // the names of all layers in that order. The weight of layer "a.b" is the parameter "a.b.weight".
  FrozenParameters(const std::vector<std::pair<std::string, at::Tensor>>& parameters,
                   const std::vector<std::string>& layers);

  // Parameters of frozen layers have no gradient from now on, nor has any parameter before the
  // first layer that is not among the leading ones. All others train. So autograd makes no graph
  // for what comes before that layer. Throws Error(kUsage) if nothing is left to train.
  void freeze(const FrozenLayers& frozen);

 private:
  struct Parameter {
    at::Tensor tensor;
    size_t layer;  // the number of layers: it belongs to none
  };

  std::vector<Parameter> parameters_;
  size_t layers_;
  FrozenLayers frozen_;
};

}  // namespace approx
