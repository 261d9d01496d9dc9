// small_cnn: three 3x3 convolutions for small grey images (14x14 and 28x28), each with batch norm
// and ReLU, the first two followed by 2x2 max-pooling; one linear layer. It is nobody's published
// network, and starts as all here (init = "fan_out").
#include <ATen/ATen.h>

#include "core/networks/network.h"
#include "core/nn/norm.h"

namespace approx {
namespace {

class SmallCnn final : public Network {
 public:
  SmallCnn(const Params& params, const NetworkInput& input) {
    const int64_t width = params.integer("width");
    int64_t channels = input.channels;
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t next = width << std::min<int64_t>(i, 1);
      convs_.emplace_back(register_module(
          fmt::format("conv{}", i + 1),
          Conv(ConvOptions{.in_channels = channels, .out_channels = next, .padding = 1})));
      norms_.emplace_back(register_module(fmt::format("norm{}", i + 1), BatchNorm(next)));
      channels = next;
    }
    const int64_t side = input.size / 4;
    linear_ = register_module("linear", Linear(channels * side * side, input.classes));
  }

  at::Tensor forward(at::Tensor x) override {
    for (size_t i = 0; i < convs_.size(); ++i) {
      x = norms_[i]->relu(convs_[i](x));
      if (i < 2) x = at::max_pool2d(x, 2);
    }
    return linear_(x.flatten(1));
  }

 private:
  std::vector<Conv> convs_;
  std::vector<BatchNorm> norms_;
  Linear linear_{nullptr};
};

REGISTER_NETWORK("small_cnn", SmallCnn)
    .about("three 3x3 convolutions and a linear layer, for 14x14 and 28x28 grey images")
    .smallest_image(4)
    .described_for({.channels = 1, .size = 14, .classes = 10})
    .param({"width", int64_t{16}, "channels of the first convolution; twice that in the others",
            1});

}  // namespace
}  // namespace approx
