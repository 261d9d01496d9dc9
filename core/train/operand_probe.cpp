#include "core/train/operand_probe.h"

#include <ATen/ATen.h>

#include "core/networks/network.h"
#include "core/train/forward_traces.h"
#include "core/train/scheduled_layers.h"

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
  for (auto* layer : network.layers()) make_exact(*layer);
  for (auto* branch : network.branches()) branch->orders = {};  // the last step may have stopped it
  ForwardTraces traces(network, network.parameters().front().device());
  OperandProbe probe;
  probe.before_forward(network);
  session.next_loss().backward();
  probe.after_backward(network);
  network.zero_grad();
  traces.remove();
  return probe.take();
}

}  // namespace approx
