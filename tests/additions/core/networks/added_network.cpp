// added_network: two 3x3 convolutions, the mean over the map, one linear layer.
#include <ATen/ops/relu.h>

#include "core/networks/network.h"

namespace approx {
namespace {

class AddedNetwork final : public Network {
 public:
  AddedNetwork(const Params& params, const NetworkInput& input) {
    const int64_t width = params.integer("width");
    first_ = register_module(
        "first",
        Conv(ConvOptions{.in_channels = input.channels, .out_channels = width, .padding = 1}));
    second_ = register_module(
        "second", Conv(ConvOptions{.in_channels = width, .out_channels = width, .padding = 1}));
    linear_ = register_module("linear", Linear(width, input.classes));
  }

  at::Tensor forward(at::Tensor x) override {
    x = at::relu(second_(at::relu(first_(x))));
    return linear_(x.mean({2, 3}));
  }

 private:
  Conv first_{nullptr}, second_{nullptr};
  Linear linear_{nullptr};
};

REGISTER_NETWORK("added_network", AddedNetwork)
    .about("two 3x3 convolutions and a linear layer")
    .described_for({.channels = 1, .size = 8, .classes = 2})
    .param({"width", int64_t{4}, "channels of both convolutions", 1});

}  // namespace
}  // namespace approx
