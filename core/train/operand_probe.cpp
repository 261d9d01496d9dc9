#include "core/train/operand_probe.h"

#include <ATen/ATen.h>

#include "core/networks/network.h"
#include "core/train/forward_traces.h"
#include "core/train/scheduled_layers.h"

namespace approx {

void OperandProbe::before_forward(Network& network) {
  reads_images_.clear();
  for (auto* layer : network.layers()) {
    layer->probing = true;
    reads_images_.push_back(layer->info.reads_images);
  }
}

void OperandProbe::after_backward(Network& network) {
  operands_.clear();
  size_t i = 0;
  for (auto* layer : network.layers()) {
    // The forward pass found no gradient for its input behind a stopped branch or frozen layers.
    layer->info.reads_images = reads_images_.at(i++);
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
