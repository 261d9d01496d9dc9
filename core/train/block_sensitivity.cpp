#include "core/train/block_sensitivity.h"

#include <ATen/ATen.h>

#include <vector>

#include "core/train/extra_gradients.h"

namespace approx {
std::map<std::string, double> block_sensitivities(Network& network,
                                                  const std::vector<BranchImpl*>& branches,
                                                  at::Device device,
                                                  const std::function<at::Tensor()>& loss) {
  ExtraGradients extra(network, device);
  const auto norms = [&] {
    std::vector<at::Tensor> each;
    for (const auto& gradient : extra.of(loss())) {
      each.push_back(gradient.defined()
                         ? gradient.norm().to(at::kDouble)
                         : at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device)));
    }
    return at::stack(each);
  };
  const auto exact = norms();
  std::map<std::string, double> sensitivities;
  for (auto* branch : branches) {
    branch->orders.stopped = true;
    sensitivities[branch->block] = (norms() - exact).square().sum().item<double>();
    branch->orders = {};
  }
  return sensitivities;
}

}  // namespace approx
