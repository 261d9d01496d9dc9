#include "core/train/frozen_parameters.h"

#include <algorithm>

#include "base/error.h"

namespace approx {

FrozenParameters::FrozenParameters(
    const std::vector<std::pair<std::string, at::Tensor>>& parameters,
    const std::vector<std::string>& layers)
    : layers_(layers.size()) {
  for (const auto& [name, tensor] : parameters) {
    const auto module = name.substr(0, std::min(name.rfind('.'), name.size()));
    const auto layer = std::ranges::find(layers, module) - layers.begin();
    parameters_.push_back({tensor, static_cast<size_t>(layer)});
  }
}

void FrozenParameters::freeze(const FrozenLayers& frozen) {
  if (frozen == frozen_) return;
  size_t left = parameters_.size();
  const auto is_frozen = [&](size_t layer) {
    return layer < frozen.layers.size() && frozen.layers[layer];
  };
  // Before the first layer that trains.
  bool leads = frozen.leading > 0;
  for (auto& [tensor, layer] : parameters_) {
    leads = leads && (layer < frozen.leading || layer == layers_);
    const bool trains = !leads && !is_frozen(layer);
    left -= trains ? 0 : 1;
    tensor.set_requires_grad(trains);
  }
  frozen_ = frozen;
  if (left == 0) {
    throw usage_error("the schedule freezes every parameter of the network; leave a layer out");
  }
}

}  // namespace approx
