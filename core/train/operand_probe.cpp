#include "core/train/operand_probe.h"

#include <ATen/ATen.h>

#include "core/networks/network.h"
#include "core/train/generators.h"

namespace approx {

void OperandProbe::before_forward(Network& network) {
  for (auto* layer : network.layers()) layer->probing = true;
}

void OperandProbe::after_backward(Network& network) {
  operands_.clear();
  for (auto* layer : network.layers()) {
    auto& [info, operands] = operands_.emplace_back(layer->info, layer->probed());
    operands.w = operands.w.clone();  // the update is about to change it in place
    layer->probing = false;
    layer->probe = {};
  }
}

LayerOperands record_exact_pass(Session& session) {
  auto& network = session.network();
  // The next step fills its slots anew, but for what the network says of a layer.
  for (auto* layer : network.layers()) {
    layer->slot = {};
    layer->slot.orders.norm_follows = layer->info.norm_follows;
  }
  // A forward pass in training mode moves running statistics and draws for dropout.
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers;
  for (const auto& buffer : network.buffers()) buffers.emplace_back(buffer, buffer.clone());
  std::vector<std::pair<at::Generator, at::Tensor>> draws;
  for (const auto& [name, generator] : generators(network.parameters().front().device())) {
    draws.emplace_back(generator, generator.get_state());
  }
  OperandProbe probe;
  probe.before_forward(network);
  session.next_loss().backward();
  probe.after_backward(network);
  network.zero_grad();
  for (const auto& [buffer, before] : buffers) buffer.copy_(before);
  for (auto& [generator, before] : draws) generator.set_state(before);
  return probe.take();
}

}  // namespace approx
