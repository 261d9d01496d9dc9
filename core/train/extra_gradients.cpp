#include "core/train/extra_gradients.h"

#include <torch/csrc/autograd/autograd.h>

#include <optional>

namespace approx {

ExtraGradients::ExtraGradients(const Network& network, c10::Device device)
    : traces_(network, device) {
  for (const auto& item : network.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    names_.push_back(item.key());
    parameters_.push_back(item.value());
  }
}

std::vector<at::Tensor> ExtraGradients::of(const at::Tensor& loss) {
  auto gradients = torch::autograd::grad({loss}, parameters_, /*grad_outputs=*/{},
                                         /*retain_graph=*/std::nullopt, /*create_graph=*/false,
                                         /*allow_unused=*/true);
  traces_.remove();
  return gradients;
}

}  // namespace approx
