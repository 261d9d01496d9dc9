#include "core/train/block_sensitivity.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <optional>
#include <vector>

#include "core/train/forward_traces.h"

namespace approx {
std::map<std::string, double> block_sensitivities(Network& network,
                                                  const std::vector<BranchImpl*>& branches,
                                                  at::Device device,
                                                  const std::function<at::Tensor()>& loss) {
  std::vector<at::Tensor> parameters;
  for (const auto& parameter : network.parameters()) {
    if (parameter.requires_grad()) parameters.push_back(parameter);
  }
  ForwardTraces traces(network, device);
  const auto norms = [&] {
    const auto gradients = torch::autograd::grad({loss()}, parameters, /*grad_outputs=*/{},
                                                 /*retain_graph=*/std::nullopt,
                                                 /*create_graph=*/false, /*allow_unused=*/true);
    traces.remove();
    std::vector<at::Tensor> each;
    for (const auto& gradient : gradients) {
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
