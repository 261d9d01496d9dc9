// A hand-made catalogue for tests of everything that only needs to know what there is: the methods
// and networks of the library by name, with the counts of layers that schedules are made for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/config/catalogue.h"

namespace approx {

// `convolutions` 3x3 convolutions named conv1.. and a linear layer named fc. Those of residual
// networks are in pairs after the first: blocks block1..
inline NetworkInfo test_network(const std::string& name, int64_t convolutions) {
  NetworkInfo network;
  network.name = name;
  network.classes = 10;
  network.channels = 3;
  network.size = 32;
  for (int64_t i = 1; i <= convolutions; ++i) {
    LayerInfo layer;
    layer.name = "stage" + std::to_string((i + 5) / 6) + ".conv" + std::to_string(i);
    layer.kind = "conv3x3";
    layer.index = i;
    layer.kernel = 3;
    layer.in_channels = i == 1 ? 3 : 16 * ((i + 5) / 6);
    layer.reads_images = i == 1;
    if (name.starts_with("resnet") && i > 1) layer.block = "block" + std::to_string(i / 2);
    network.layers.push_back(layer);
  }
  LayerInfo linear;
  linear.name = "fc";
  linear.kind = "linear";
  linear.index = 1;
  network.layers.push_back(linear);
  return network;
}

inline const Catalogue& test_catalogue() {
  static const Catalogue catalogue = [] {
    Catalogue made;
    const auto add_selection = [&made](const std::string& name, std::vector<ParamSpec> params,
                                       bool after_an_epoch) {
      SelectionInfo selection;
      selection.name = name;
      selection.params = std::move(params);
      selection.after_an_epoch = after_an_epoch;
      made.selections.push_back(std::move(selection));
    };
    add_selection("random_subset", {{"ratio", 0.5, "", 0, 1}}, false);
    add_selection("infobatch", {{"r", 0.5, "", 0, 0.99}}, true);
    add_selection("proxy_selection", {{"proxy", std::string("small_cnn"), ""}}, false);
    const auto add = [&made](const std::string& name, std::vector<ParamSpec> params,
                             std::vector<Product> products) {
      MethodInfo method;
      method.name = name;
      method.params = std::move(params);
      method.products = std::move(products);
      made.methods.push_back(std::move(method));
    };
    add("zero", {{"freeze", false, ""}}, {Product::kWeightGradient});
    add("random", {{"std", 0.0078125, "", 0.0, 10.0}}, {Product::kWeightGradient});
    ParamSpec scale{"scale", std::string("equal"), ""};
    scale.choices = {"equal", "signed", "l1", "none"};
    add("topk_position", {{"k", int64_t{1}, "", 1}, scale}, {Product::kWeightGradient});
    ParamSpec narrow{"min_channels", int64_t{0}, "", 0};
    narrow.added_later = true;
    add("meprop", {{"k", int64_t{1}, "", 1}, narrow},
        {Product::kDataGradient, Product::kWeightGradient});
    add("forward_only", {}, {Product::kForward});
    ParamSpec mode{"mode", std::string("both"), ""};
    mode.choices = {"both", "backward"};
    add("sampler", {mode}, {kAllProducts.begin(), kAllProducts.end()});
    made.methods.back().products_of_mode = {
        {"both", {kAllProducts.begin(), kAllProducts.end()}},
        {"backward", {Product::kDataGradient, Product::kWeightGradient}}};
    add("block_skip", {{"rescale", false, ""}}, {Product::kDataGradient, Product::kWeightGradient});
    made.methods.back().stops_blocks = true;
    made.networks = {test_network("small_cnn", 2), test_network("wang_cnn2", 2),
                     test_network("resnet20", 19), test_network("resnet14", 13),
                     test_network("vgg19", 16),    test_network("alexnet", 5)};
    return made;
  }();
  return catalogue;
}

}  // namespace approx
