#include "core/networks/network.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <map>
#include <set>

namespace approx {

std::vector<Layer*> Network::layers() {
  std::vector<Layer*> found;
  int64_t convolutions = 0, linears = 0;
  for (const auto& item : named_modules(/*name_prefix=*/"", /*include_self=*/false)) {
    auto* layer = dynamic_cast<Layer*>(item.value().get());
    if (layer == nullptr) continue;
    layer->info.name = item.key();
    layer->info.index = layer->info.is_conv() ? ++convolutions : ++linears;
    found.push_back(layer);
  }
  return found;
}

std::shared_ptr<Network> make_network(std::string_view text, const NetworkInput& input,
                                      uint64_t seed) {
  const Spec spec = parse_spec(text);
  const auto& entry = Registry<NetworkEntry>::instance().find(spec.name);
  if (input.size < entry.smallest) {
    throw usage_error("{} needs images of at least {}x{} pixels, the data set's are {}x{}",
                      spec.name, entry.smallest, entry.smallest, input.size, input.size);
  }
  at::manual_seed(seed);
  auto network = entry.make(Params(entry.params, spec), input);
  network->layers();  // names and indices
  return network;
}

namespace {

// The nodes of a backward graph, each with the names of those that use its result.
std::map<torch::autograd::Node*, std::vector<std::string>> users_of(torch::autograd::Node* root) {
  std::map<torch::autograd::Node*, std::vector<std::string>> users;
  std::set<torch::autograd::Node*> seen = {root};
  std::vector<torch::autograd::Node*> waiting = {root};
  while (!waiting.empty()) {
    auto* node = waiting.back();
    waiting.pop_back();
    for (const auto& edge : node->next_edges()) {
      if (!edge.function) continue;
      users[edge.function.get()].push_back(node->name());
      if (seen.insert(edge.function.get()).second) waiting.push_back(edge.function.get());
    }
  }
  return users;
}

}  // namespace

std::vector<LayerInfo> layer_infos(Network& network, const NetworkInput& input) {
  const at::AutoGradMode with_graph(true);
  const bool training = network.is_training();
  network.eval();
  const auto layers = network.layers();
  for (auto* layer : layers) layer->probing = true;
  const auto y = network.forward(at::zeros({1, input.channels, input.size, input.size}));
  network.train(training);
  const auto users = users_of(y.grad_fn().get());
  std::vector<LayerInfo> infos;
  for (auto* layer : layers) {
    const auto found = users.find(layer->probe.y.grad_fn().get());
    layer->info.norm_follows =
        found != users.end() &&
        std::any_of(found->second.begin(), found->second.end(), [](const std::string& user) {
          return user.find("BatchNorm") != std::string::npos;
        });
    layer->probing = false;
    layer->probe = {};
    infos.push_back(layer->info);
  }
  return infos;
}

NetworkInfo describe(const NetworkEntry& entry) {
  NetworkInfo info = entry;
  const ZeroWeights shapes_only;
  const auto network = make_network(entry.name, entry.input, /*seed=*/0);
  info.layers = layer_infos(*network, entry.input);
  info.classes = entry.input.classes;
  info.channels = entry.input.channels;
  info.size = entry.input.size;
  for (const auto& parameter : network->parameters()) info.parameters += parameter.numel();
  for (const auto& layer : info.layers) info.macs += layer.macs;
  return info;
}

}  // namespace approx
