// A network: a torch::nn module built from our layers. Each has one .cpp in core/networks/ that
// ends in REGISTER_NETWORK.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"
#include "base/registry.h"
#include "core/config/catalogue.h"
#include "core/nn/branch.h"
#include "core/nn/layers.h"
#include "core/nn/whitening.h"

namespace approx {

// The input that a network is built for: images of size x size, and the number of classes.
struct NetworkInput {
  int64_t channels = 3, size = 32, classes = 10;
};

// A frozen convolution that whitens the images.
struct WhitenedLayer {
  Conv layer;
  WhiteningOptions options;
};

class Network : public torch::nn::Module {
 public:
  // x [N,C,H,W] (channels last in memory) -> logits [N,classes]
  virtual at::Tensor forward(at::Tensor x) = 0;

  // The layer whose weight is computed from the training images; nothing: there is none. A training
  // sets that weight before its first step (core/train/whitening.h).
  virtual std::optional<WhitenedLayer> whitened() const { return std::nullopt; }

  // The convolutions and linear layers in the order of the forward pass, with names, indices and
  // blocks filled in. They were built in that order.
  std::vector<Layer*> layers();

  // The residual branches, named after their blocks, in the order of the forward pass.
  std::vector<BranchImpl*> branches();

  int64_t parameter_count() const;

  // Multiply-accumulates of the forward pass for one example, by the layers' last input sizes.
  int64_t macs();

  // The name of the first parameter that is not finite; "" if all are finite. Waits for the device.
  std::string first_bad_parameter() const;
};

struct NetworkEntry : NetworkInfo {
  static constexpr const char* kWhat = "network";
  std::function<std::shared_ptr<Network>(const Params&, const NetworkInput&)> make;
  NetworkInput input;  // the input that it is described for

  NetworkEntry& about(std::string text) { return summary = std::move(text), *this; }
  NetworkEntry& from_paper(std::string id, std::string at) {
    return paper = std::move(id), paper_at = std::move(at), *this;
  }
  NetworkEntry& described_for(NetworkInput shape) { return input = shape, *this; }
  NetworkEntry& smallest_image(int64_t side) { return smallest = side, *this; }
  // Applies a declaration that several networks share.
  NetworkEntry& with(void (*declare)(NetworkEntry&)) { return declare(*this), *this; }
  NetworkEntry& param(ParamSpec spec) { return params.push_back(std::move(spec)), *this; }
};

// The network of `name:key=value,...`. LibTorch's global generator is seeded with `seed` and
// initialises it: equal seeds give equal weights, whatever is approximated later. Throws
// Error(kUsage).
std::shared_ptr<Network> make_network(std::string_view text, const NetworkInput& input,
                                      uint64_t seed);

// Parameters, multiply-accumulates and layers of the entry at its defaults.
NetworkInfo describe(const NetworkEntry& entry);

// The layers of a network after one forward pass with an example of `input`. The graph of that pass
// shows which of them a batch norm follows.
std::vector<LayerInfo> layer_infos(Network& network, const NetworkInput& input);

template <typename Type>
NetworkEntry& register_network(std::string name) {
  auto& entry = Registry<NetworkEntry>::instance().add(std::move(name));
  entry.make = [](const Params& params, const NetworkInput& input) {
    return std::make_shared<Type>(params, input);
  };
  return entry;
}

}  // namespace approx

#define REGISTER_NETWORK(NAME, TYPE)                                              \
  [[maybe_unused]] static ::approx::NetworkEntry& APPROX_UNIQUE(network_entry_) = \
      ::approx::register_network<TYPE>(NAME)
