// resnet9: the CIFAR-10 network of McDanel et al. 2022, which is that of the FFCV library's CIFAR
// training: eight convolutions, each with batch norm and ReLU, four of them in two residual blocks
// whose addition no ReLU follows; 2x2 and in the end global max-pooling; a linear layer without
// bias, whose logits are multiplied by 0.2. Weights start as in all networks here, not from
// PyTorch's defaults.
#include <ATen/ATen.h>

#include "core/network.h"
#include "core/networks/blocks.h"

namespace approx {
namespace {

class ResNet9 final : public Network {
 public:
  ResNet9(const Params&, const NetworkInput& input)
      : conv1_(*this, "conv1", {.in_channels = input.channels, .out_channels = 64, .padding = 1}),
        conv2_(*this, "conv2",
               {.in_channels = 64, .out_channels = 128, .kernel = 5, .stride = 2, .padding = 2}),
        block1_conv1_(*this, "block1_conv1", inside(128)),
        block1_conv2_(*this, "block1_conv2", inside(128)),
        conv3_(*this, "conv3", {.in_channels = 128, .out_channels = 256, .padding = 1}),
        block2_conv1_(*this, "block2_conv1", inside(256)),
        block2_conv2_(*this, "block2_conv2", inside(256)),
        conv4_(*this, "conv4", {.in_channels = 256, .out_channels = 128}),
        linear_(register_module("linear", Linear(128, input.classes, /*with_bias=*/false))) {}

  at::Tensor forward(at::Tensor x) override {
    x = conv2_.relu(conv1_.relu(x));
    x = block1_conv2_.relu(block1_conv1_.relu(x)) + x;
    x = at::max_pool2d(conv3_.relu(x), 2);
    x = block2_conv2_.relu(block2_conv1_.relu(x)) + x;
    return linear_(conv4_.relu(x).amax({2, 3})) * 0.2;
  }

 private:
  static ConvOptions inside(int64_t channels) {
    return {.in_channels = channels, .out_channels = channels, .padding = 1};
  }

  ConvNorm conv1_, conv2_, block1_conv1_, block1_conv2_, conv3_, block2_conv1_, block2_conv2_,
      conv4_;
  Linear linear_;
};

REGISTER_NETWORK("resnet9", ResNet9)
    .about("eight convolutions and a linear layer for 32x32 images, two residual blocks")
    .from_paper("mcdanel2022", "section IV")
    .smallest_image(11)
    .described_for({});

}  // namespace
}  // namespace approx
