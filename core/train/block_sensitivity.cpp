#include "core/train/block_sensitivity.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <optional>
#include <utility>

#include "core/train/generators.h"

namespace approx {
namespace {

// What forward passes in training change: running statistics, and where generators stand.
class ForwardTraces {
 public:
  ForwardTraces(const Network& network, at::Device device) {
    for (const auto& buffer : network.buffers()) {
      buffers_.emplace_back(buffer, buffer.detach().clone());
    }
    for (const auto& [name, generator] : generators(device)) {
      generators_.emplace_back(generator, generator.get_state());
    }
  }

  void remove() {
    const at::NoGradGuard no_grad;
    for (auto& [buffer, before] : buffers_) buffer.copy_(before);
    for (auto& [generator, before] : generators_) generator.set_state(before);
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;
  std::vector<std::pair<at::Generator, at::Tensor>> generators_;
};

}  // namespace

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
