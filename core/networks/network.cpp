#include "core/networks/network.h"

#include <ATen/ATen.h>

#include "core/nn/norm.h"

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
  branches();  // name the blocks of their layers
  return found;
}

std::vector<BranchImpl*> Network::branches() {
  constexpr std::string_view kOfBlock = ".branch";
  std::vector<BranchImpl*> found;
  for (const auto& item : named_modules(/*name_prefix=*/"", /*include_self=*/false)) {
    auto* branch = dynamic_cast<BranchImpl*>(item.value().get());
    if (branch == nullptr) continue;
    branch->block = item.key();
    if (branch->block.ends_with(kOfBlock)) {
      branch->block.resize(branch->block.size() - kOfBlock.size());
    }
    for (auto* layer : branch->layers()) layer->info.block = branch->block;
    found.push_back(branch);
  }
  return found;
}

int64_t Network::parameter_count() const {
  int64_t count = 0;
  for (const auto& parameter : parameters()) count += parameter.numel();
  return count;
}

int64_t Network::macs() {
  int64_t macs = 0;
  for (const auto* layer : layers()) macs += layer->info.macs;
  return macs;
}

std::string Network::first_bad_parameter() const {
  for (const auto& item : named_parameters()) {
    if (!item.value().isfinite().all().item<bool>()) return item.key();
  }
  return "";
}

std::shared_ptr<Network> make_network(std::string_view text, const NetworkInput& input,
                                      uint64_t seed) {
  const Spec spec = parse_spec(text);
  const auto& entry = Registry<NetworkEntry>::instance().find(spec.name);
  entry.check_side(input.size);
  at::manual_seed(seed);
  auto network = entry.make(Params(entry.params, spec), input);
  network->layers();  // names and indices
  return network;
}

std::vector<LayerInfo> layer_infos(Network& network, const NetworkInput& input) {
  const at::AutoGradMode with_graph(true);
  const bool training = network.is_training();
  network.eval();
  const auto layers = network.layers();
  for (auto* layer : layers) layer->probing = true;
  const NormInputs norm_inputs;
  network.forward(at::zeros({1, input.channels, input.size, input.size}));
  network.train(training);
  std::vector<LayerInfo> infos;
  for (auto* layer : layers) {
    layer->info.norm_follows = norm_inputs.took(layer->probe.y);
    layer->probing = false;
    layer->probe = {};
    infos.push_back(layer->info);
  }
  return infos;
}

NetworkInfo describe(const NetworkEntry& entry) {
  auto info = static_cast<const NetworkInfo&>(entry);
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
