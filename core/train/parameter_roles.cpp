#include "core/train/parameter_roles.h"

#include "core/networks/network.h"
#include "core/nn/layers.h"
#include "core/nn/norm.h"

namespace approx {

std::set<std::string> norm_biases(const torch::nn::Module& network) {
  std::set<std::string> names;
  for (const auto& item : network.named_modules(/*name_prefix=*/"", /*include_self=*/false)) {
    if (dynamic_cast<const BatchNormImpl*>(item.value().get()) != nullptr) {
      names.insert(item.key() + ".bias");
    }
  }
  return names;
}

at::Tensor first_convolution_bias(Network& network) {
  for (auto* layer : network.layers()) {
    if (const auto* conv = dynamic_cast<const ConvImpl*>(layer)) return conv->bias;
  }
  return {};
}

}  // namespace approx
