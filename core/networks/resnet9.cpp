// resnet9: the CIFAR-10 network of McDanel et al. 2022, which is that of the FFCV library's CIFAR
// training: eight convolutions, each with batch norm and ReLU, four of them in two residual blocks
// whose addition no ReLU follows; 2x2 and in the end global max-pooling; a linear layer without
// bias, whose logits are multiplied by 0.2. FFCV's training starts from PyTorch's
// weights, which a recipe has by init = "pytorch"; the default is fan_out, as in all networks here.
#include <ATen/ATen.h>

#include "core/networks/blocks.h"
#include "core/networks/network.h"

namespace approx {
namespace {

class ResNet9 final : public Network {
 public:
  ResNet9(const Params& params, const NetworkInput& input)
      : width_(params.integer("width")),
        conv1_(*this, "conv1",
               {.in_channels = input.channels, .out_channels = width_, .padding = 1}),
        conv2_(*this, "conv2",
               {.in_channels = width_,
                .out_channels = 2 * width_,
                .kernel = 5,
                .stride = 2,
                .padding = 2}),
        block1_conv1_(*this, "block1_conv1", inside(2 * width_)),
        block1_conv2_(*this, "block1_conv2", inside(2 * width_)),
        conv3_(*this, "conv3",
               {.in_channels = 2 * width_, .out_channels = 4 * width_, .padding = 1}),
        block2_conv1_(*this, "block2_conv1", inside(4 * width_)),
        block2_conv2_(*this, "block2_conv2", inside(4 * width_)),
        conv4_(*this, "conv4", {.in_channels = 4 * width_, .out_channels = 2 * width_}),
        linear_(register_module("linear", Linear(2 * width_, input.classes, /*with_bias=*/false))),
        block1_(register_module("block1", branch(block1_conv1_, block1_conv2_))),
        block2_(register_module("block2", branch(block2_conv1_, block2_conv2_))) {}

  at::Tensor forward(at::Tensor x) override {
    x = conv2_.relu(conv1_.relu(x));
    x = block1_->sum(block1_->output([&] { return block1_conv2_.relu(block1_conv1_.relu(x)); }) +
                     x);
    x = at::max_pool2d(conv3_.relu(x), 2);
    x = block2_->sum(block2_->output([&] { return block2_conv2_.relu(block2_conv1_.relu(x)); }) +
                     x);
    return linear_(conv4_.relu(x).amax({2, 3})) * 0.2;
  }

 private:
  static ConvOptions inside(int64_t channels) {
    return {.in_channels = channels, .out_channels = channels, .padding = 1};
  }

  static Branch branch(const ConvNorm& first, const ConvNorm& second) {
    return Branch(std::vector<Layer*>{first.layer(), second.layer()});
  }

  const int64_t width_;
  ConvNorm conv1_, conv2_, block1_conv1_, block1_conv2_, conv3_, block2_conv1_, block2_conv2_,
      conv4_;
  Linear linear_;
  Branch block1_, block2_;
};

REGISTER_NETWORK("resnet9", ResNet9)
    .about("eight convolutions and a linear layer for 32x32 images, two residual blocks")
    .from_paper("mcdanel2022", "section IV")
    .param({"width", int64_t{64},
            "channels of the first layer; later ones have 2 and 4 times as many", 1})
    .smallest_image(11)
    .described_for({});

}  // namespace
}  // namespace approx
