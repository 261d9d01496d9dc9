// wide_resnet: WRN-depth-width of Zagoruyko & Komodakis 2016 (Table 1) for 32x32 images: a 3x3 stem
// of 16 channels and three stages of (depth - 4) / 6 blocks of 16, 32 and 64 times `width`
// channels. Norm and ReLU come before each convolution; where a block changes a size, its shortcut
// is a 1x1 convolution of the normalised input, without a norm of its own. Dropout, off by default,
// between a block's convolutions. Adelman et al. 2021 train WRN-28-10. Convolutions start over the
// fan out, as those of other ResNets (init = "fan_out").
#include <ATen/ATen.h>

#include "core/networks/network.h"
#include "core/nn/branch.h"
#include "core/nn/norm.h"

namespace approx {
namespace {

class PreActivationBlock final : public torch::nn::Module {
 public:
  PreActivationBlock(int64_t in_channels, int64_t out_channels, int64_t stride, double dropout)
      : dropout_(dropout) {
    norm1_ = register_module("norm1", BatchNorm(in_channels));
    conv1_ = register_module("conv1", Conv(ConvOptions{.in_channels = in_channels,
                                                       .out_channels = out_channels,
                                                       .stride = stride,
                                                       .padding = 1}));
    norm2_ = register_module("norm2", BatchNorm(out_channels));
    conv2_ = register_module(
        "conv2",
        Conv(ConvOptions{.in_channels = out_channels, .out_channels = out_channels, .padding = 1}));
    branch_ = register_module("branch", Branch(std::vector<Layer*>{conv1_.get(), conv2_.get()}));
    if (stride == 1 && in_channels == out_channels) return;
    shortcut_ = register_module("shortcut", Conv(ConvOptions{.in_channels = in_channels,
                                                             .out_channels = out_channels,
                                                             .kernel = 1,
                                                             .stride = stride}));
  }

  at::Tensor forward(const at::Tensor& x) {
    // The first norm belongs to the branch where the shortcut is the identity.
    const auto normalised = [&] { return norm1_->relu(x); };
    const auto active = shortcut_ ? normalised() : branch_->part(normalised);
    const auto y = branch_->output(
        [&] { return conv2_(at::dropout(norm2_->relu(conv1_(active)), dropout_, is_training())); });
    return branch_->sum(y.add_(shortcut_ ? shortcut_(active) : x));
  }

 private:
  double dropout_;
  BatchNorm norm1_{nullptr}, norm2_{nullptr};
  Conv conv1_{nullptr}, conv2_{nullptr}, shortcut_{nullptr};
  Branch branch_{nullptr};
};

class WideResNet final : public Network {
 public:
  WideResNet(const Params& params, const NetworkInput& input) {
    const int64_t depth = params.integer("depth"), width = params.integer("width");
    stem_ = register_module(
        "stem", Conv(ConvOptions{.in_channels = input.channels, .out_channels = 16, .padding = 1}));
    int64_t channels = 16;
    for (int64_t stage = 1; stage <= 3; ++stage) {
      const int64_t next = (int64_t{8} << stage) * width;
      for (int64_t block = 1; block <= (depth - 4) / 6; ++block) {
        blocks_.push_back(register_module(
            fmt::format("stage{}_block{}", stage, block),
            std::make_shared<PreActivationBlock>(channels, next, stage > 1 && block == 1 ? 2 : 1,
                                                 params.real("dropout"))));
        channels = next;
      }
    }
    norm_ = register_module("norm", BatchNorm(channels));
    linear_ = register_module("linear", Linear(channels, input.classes));
  }

  at::Tensor forward(at::Tensor x) override {
    x = stem_(x);
    for (const auto& block : blocks_) x = block->forward(x);
    return linear_(norm_->relu(x).mean({2, 3}));
  }

 private:
  Conv stem_{nullptr};
  std::vector<std::shared_ptr<PreActivationBlock>> blocks_;
  BatchNorm norm_{nullptr};
  Linear linear_{nullptr};
};

REGISTER_NETWORK("wide_resnet", WideResNet)
    .about("wide residual network WRN-depth-width for 32x32 images")
    .from_paper("zagoruyko2016", "Table 1")
    .described_for({})
    .param({.name = "depth",
            .fallback = int64_t{28},
            .help = "layers with weights, 6n + 4",
            .min = 10,
            .step = 6})
    .param({"width", int64_t{10}, "channels of each stage, in units of 16, 32 and 64", 1})
    .param({"dropout", 0.0, "share of entries left out between the convolutions of a block", 0, 1});

}  // namespace
}  // namespace approx
