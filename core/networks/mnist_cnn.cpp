// mnist_cnn: the small CNN that Adelman et al. 2021 train on MNIST (Table 1). Their text says no
// more than that. From the code they published: 5x5 convolutions with 32 and 64 channels, two
// linear layers, dropout 0.5 of whole channels and of units. Chosen here, after the network of
// TensorFlow's early MNIST tutorial, which has the same convolutions: padding 2 (28 -> 14 -> 7),
// 2x2 max-pooling after each convolution and 1024 hidden units; and after PyTorch's MNIST example,
// which has the same two kinds of dropout: channels are left out right behind the second
// convolution, units behind the ReLU of the hidden layer. How weights start is not stated: as in
// all networks here (init = "fan_out"); PyTorch's example has PyTorch's own (init = "pytorch").
#include <ATen/ATen.h>

#include "core/networks/network.h"

namespace approx {
namespace {

class MnistCnn final : public Network {
 public:
  MnistCnn(const Params& params, const NetworkInput& input) : dropout_(params.real("dropout")) {
    conv1_ = register_module("conv1", Conv(ConvOptions{.in_channels = input.channels,
                                                       .out_channels = 32,
                                                       .kernel = 5,
                                                       .padding = 2,
                                                       .bias = true}));
    conv2_ = register_module(
        "conv2",
        Conv(ConvOptions{
            .in_channels = 32, .out_channels = 64, .kernel = 5, .padding = 2, .bias = true}));
    const int64_t side = input.size / 4;
    linear1_ = register_module("linear1", Linear(64 * side * side, 1024));
    linear2_ = register_module("linear2", Linear(1024, input.classes));
  }

  // The ReLU comes after the pooling, where it has a quarter of the work and the same result.
  at::Tensor forward(at::Tensor x) override {
    x = at::max_pool2d(conv1_(x), 2).relu_();
    x = at::max_pool2d(at::feature_dropout(conv2_(x), dropout_, is_training()), 2).relu_();
    x = linear1_(x.flatten(1)).relu_();
    return linear2_(at::dropout(x, dropout_, is_training()));
  }

 private:
  double dropout_;
  Conv conv1_{nullptr}, conv2_{nullptr};
  Linear linear1_{nullptr}, linear2_{nullptr};
};

REGISTER_NETWORK("mnist_cnn", MnistCnn)
    .about("two 5x5 convolutions and two linear layers with dropout, for MNIST")
    .from_paper("adelman2021", "Table 1")
    .smallest_image(4)
    .described_for({.channels = 1, .size = 28, .classes = 10})
    .param({"dropout", 0.5,
            "share of the second convolution's channels and of the hidden units left out", 0, 1});

}  // namespace
}  // namespace approx
