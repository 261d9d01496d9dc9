// wang_cnn2: the 2-layer CNN of Wang, Nelaturu & Amarasinghe 2019, section 3: Krizhevsky's two
// 5x5x64 convolutions with local response normalisation replaced by batch norm, each followed by
// ReLU and 3x3 max-pooling of stride 2; fully connected 384, 192, classes. How its weights start is
// not stated: as in all networks here (init = "fan_out").
#include <ATen/ATen.h>

#include "core/networks/network.h"
#include "core/nn/norm.h"

namespace approx {
namespace {

class WangCnn2 final : public Network {
 public:
  WangCnn2(const Params&, const NetworkInput& input) {
    constexpr int64_t kChannels = 64;
    conv1_ = register_module(
        "conv1",
        Conv(ConvOptions{
            .in_channels = input.channels, .out_channels = kChannels, .kernel = 5, .padding = 2}));
    norm1_ = register_module("norm1", BatchNorm(kChannels));
    conv2_ = register_module(
        "conv2",
        Conv(ConvOptions{
            .in_channels = kChannels, .out_channels = kChannels, .kernel = 5, .padding = 2}));
    norm2_ = register_module("norm2", BatchNorm(kChannels));
    const int64_t side = halved(halved(input.size));
    linear1_ = register_module("linear1", Linear(kChannels * side * side, 384));
    linear2_ = register_module("linear2", Linear(384, 192));
    linear3_ = register_module("linear3", Linear(192, input.classes));
  }

  at::Tensor forward(at::Tensor x) override {
    x = pooled(norm1_->relu(conv1_(x)));
    x = pooled(norm2_->relu(conv2_(x)));
    x = linear1_(x.flatten(1)).relu_();
    x = linear2_(x).relu_();
    return linear3_(x);
  }

 private:
  static int64_t halved(int64_t size) { return (size - 1) / 2 + 1; }
  static at::Tensor pooled(const at::Tensor& x) { return at::max_pool2d(x, 3, 2, 1); }

  Conv conv1_{nullptr}, conv2_{nullptr};
  BatchNorm norm1_{nullptr}, norm2_{nullptr};
  Linear linear1_{nullptr}, linear2_{nullptr}, linear3_{nullptr};
};

REGISTER_NETWORK("wang_cnn2", WangCnn2)
    .about("two 5x5 convolutions with batch norm, three linear layers")
    .from_paper("wang2019", "section 3")
    .described_for({});

}  // namespace
}  // namespace approx
