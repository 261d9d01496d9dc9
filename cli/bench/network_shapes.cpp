#include "cli/bench/network_shapes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace approx {
namespace {

// The layers of one kind in one network: "resnet20", "conv", {2, 3, 4}.
struct LayerGroup {
  std::string network, kind;
  std::vector<int64_t> indices;  // ascending
};

// "1-3,7"
std::string ranges_text(const std::vector<int64_t>& indices) {
  std::string text;
  for (size_t i = 0; i < indices.size();) {
    size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    if (i > 0) text += ',';
    text += std::to_string(indices[i]);
    if (end - i > 1) text += fmt::format("-{}", indices[end - 1]);
    i = end;
  }
  return text;
}

std::string label_text(const std::vector<LayerGroup>& groups) {
  std::string text;
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto& [network, kind, indices] = groups[i];
    const bool same_network = i > 0 && groups[i - 1].network == network;
    if (i > 0) text += same_network ? ", " : "; ";
    if (!same_network) text += network + " ";
    text += fmt::format("{} {}", kind, ranges_text(indices));
  }
  return text;
}

ConvShape shape_of(const LayerInfo& layer, int64_t batch) {
  return {.label = {},
          .batch = batch,
          .in_channels = layer.in_channels,
          .out_channels = layer.out_channels,
          .size = layer.is_conv() ? layer.in_size : 1,
          .kernel = layer.kernel,
          .stride = layer.stride,
          .padding = layer.padding,
          .groups = layer.groups};
}

auto numbers_of(const ConvShape& s) {
  return std::tuple(s.batch, s.in_channels, s.size, s.out_channels, s.kernel, s.stride, s.padding,
                    s.groups);
}

}  // namespace

std::vector<const NetworkInfo*> networks_named(const Catalogue& catalogue,
                                               const std::vector<std::string>& names) {
  std::vector<const NetworkInfo*> networks;
  const auto add = [&](const NetworkInfo& network) {
    const bool is_new = std::find(networks.begin(), networks.end(), &network) == networks.end();
    if (is_new) networks.push_back(&network);
  };
  for (const auto& name : names) {
    if (name != "all") {
      add(catalogue.network(name));
      continue;
    }
    for (const auto& network : catalogue.networks) add(network);
  }
  return networks;
}

std::vector<ConvShape> network_shapes(const std::vector<const NetworkInfo*>& networks,
                                      int64_t batch) {
  std::vector<ConvShape> shapes;
  std::vector<std::vector<LayerGroup>> layers;  // of each shape
  std::map<decltype(numbers_of(ConvShape())), size_t> known;
  for (const auto* network : networks) {
    for (const auto& layer : network->layers) {
      const ConvShape shape = shape_of(layer, batch);
      const auto [found, is_new] = known.try_emplace(numbers_of(shape), shapes.size());
      if (is_new) {
        shapes.push_back(shape);
        layers.emplace_back();
      }
      auto& groups = layers[found->second];
      const std::string kind = layer.is_conv() ? "conv" : "linear";
      const auto group = std::find_if(groups.begin(), groups.end(), [&](const LayerGroup& each) {
        return each.network == network->name && each.kind == kind;
      });
      auto& indices = group != groups.end()
                          ? group->indices
                          : groups.emplace_back(LayerGroup{network->name, kind, {}}).indices;
      indices.push_back(layer.index);
    }
  }
  for (size_t i = 0; i < shapes.size(); ++i) shapes[i].label = label_text(layers[i]);
  return shapes;
}

}  // namespace approx
