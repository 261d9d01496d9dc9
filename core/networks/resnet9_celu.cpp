// resnet9_celu: the ResNet-9 that Page 2019 ("How to train your ResNet 8: bag of tricks") trains to
// 94 % on CIFAR-10 in ten epochs: a frozen 3x3 whitening convolution of 27 filters, of 10,000
// images with an epsilon of 0.01; a 1x1 convolution, norm and CELU; three times 3x3 convolution,
// 2x2 max-pooling, norm and CELU, to 128, 256 and 512 channels, after the first and the third of
// which a residual of two convolutions, each with norm and CELU, is added, behind which nothing
// follows; max-pooling of the whole map; a linear layer without bias, whose logits are divided
// by 16. Norms have no scale, CELU has alpha = 0.3, and convolutions start as PyTorch's.
//
// Page's norms take the statistics of 16 parts of a batch, which is a setting of the recipe here
// (`ghost_batch`).
//
// Departure: the images that whiten are the first of the training part, in its order.
#include <ATen/ATen.h>

#include "core/networks/network.h"
#include "core/nn/branch.h"
#include "core/nn/norm.h"

namespace approx {
namespace {

class ResNet9Celu final : public Network {
 public:
  ResNet9Celu(const Params& params, const NetworkInput& input) {
    const int64_t width = params.integer("width"), kernel = 3;
    const int64_t filters = whitening_filters(input.channels, kernel, whitening_);
    whiten_ = register_module("whiten", Conv(ConvOptions{.in_channels = input.channels,
                                                         .out_channels = filters,
                                                         .kernel = kernel,
                                                         .padding = 1,
                                                         .frozen = true}));
    prep_ = block("prep", filters, width, /*kernel=*/1);
    layer1_ = block("layer1", width, 2 * width);
    layer1_res1_ = block("layer1_res1", 2 * width, 2 * width);
    layer1_res2_ = block("layer1_res2", 2 * width, 2 * width);
    layer1_res_ = branch("layer1_res", layer1_res1_, layer1_res2_);
    layer2_ = block("layer2", 2 * width, 4 * width);
    layer3_ = block("layer3", 4 * width, 8 * width);
    layer3_res1_ = block("layer3_res1", 8 * width, 8 * width);
    layer3_res2_ = block("layer3_res2", 8 * width, 8 * width);
    layer3_res_ = branch("layer3_res", layer3_res1_, layer3_res2_);
    linear_ = register_module("linear", Linear(8 * width, input.classes, /*with_bias=*/false));
  }

  at::Tensor forward(at::Tensor x) override {
    x = prep_.celu(whiten_(x));
    x = layer1_.pooled_celu(x);
    x = layer1_res_->sum(
        layer1_res_->output([&] { return layer1_res2_.celu(layer1_res1_.celu(x)); }) + x);
    x = layer2_.pooled_celu(x);
    x = layer3_.pooled_celu(x);
    x = layer3_res_->sum(
        layer3_res_->output([&] { return layer3_res2_.celu(layer3_res1_.celu(x)); }) + x);
    return linear_(at::max_pool2d(x, {x.size(2), x.size(3)}).flatten(1)) / 16;
  }

  std::optional<WhitenedLayer> whitened() const override {
    return WhitenedLayer{whiten_, whitening_};
  }

 private:
  struct Block {
    Conv conv{nullptr};
    BatchNorm norm{nullptr};

    at::Tensor celu(const at::Tensor& x) { return norm->celu(conv(x)); }
    at::Tensor pooled_celu(const at::Tensor& x) { return norm->celu(at::max_pool2d(conv(x), 2)); }
  };

  Block block(const std::string& name, int64_t in_channels, int64_t channels, int64_t kernel = 3) {
    return {register_module(name, Conv(ConvOptions{.in_channels = in_channels,
                                                   .out_channels = channels,
                                                   .kernel = kernel,
                                                   .padding = kernel / 2,
                                                   .start = ConvStart::kUniform})),
            register_module(name + "_norm",
                            BatchNorm(BatchNormOptions{
                                .channels = channels, .scale = false, .celu_alpha = 0.3}))};
  }

  Branch branch(const std::string& name, const Block& first, const Block& second) {
    return register_module(
        name, Branch(std::vector<Layer*>{first.conv.ptr().get(), second.conv.ptr().get()}));
  }

  const WhiteningOptions whitening_{.images = 10000, .epsilon = 0.01, .negatives = false};
  Conv whiten_{nullptr};
  Block prep_, layer1_, layer1_res1_, layer1_res2_, layer2_, layer3_, layer3_res1_, layer3_res2_;
  Branch layer1_res_{nullptr}, layer3_res_{nullptr};
  Linear linear_{nullptr};
};

REGISTER_NETWORK("resnet9_celu", ResNet9Celu)
    .about("ResNet-9 behind a whitening convolution, with CELU: CIFAR-10 in ten epochs")
    .from_paper("page2019", "bag of tricks")
    .param({"width", int64_t{64},
            "channels of the first layer that trains; later ones have 2, 4 and 8 times as many", 1})
    .smallest_image(8)
    .described_for({});

}  // namespace
}  // namespace approx
