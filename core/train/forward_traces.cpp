#include "core/train/forward_traces.h"

#include <ATen/ATen.h>

#include "core/train/generators.h"

namespace approx {

ForwardTraces::ForwardTraces(const Network& network, c10::Device device) {
  for (const auto& buffer : network.buffers()) {
    buffers_.emplace_back(buffer, buffer.detach().clone());
  }
  for (const auto& [name, generator] : generators(device)) {
    generators_.emplace_back(generator, generator.get_state());
  }
}

void ForwardTraces::remove() {
  const at::NoGradGuard no_grad;
  for (auto& [buffer, before] : buffers_) buffer.copy_(before);
  for (auto& [generator, before] : generators_) generator.set_state(before);
}

}  // namespace approx
