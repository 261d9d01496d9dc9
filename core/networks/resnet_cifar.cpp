// resnet20 and resnet14: the residual networks for 32x32 images of He et al. 2016 (section 4.2),
// 6n+2 layers in three stages of 16, 32 and 64 channels, with parameter-free shortcuts: identity,
// and where the map halves, every second pixel with zeros for the new channels (their option A). So
// 19 and 13 convolutions. They start by the rule of He et al. 2015, as the paper says; over the fan
// out (init = "fan_out"), as torchvision's ResNets do.
#include <ATen/ATen.h>

#include "core/networks/network.h"
#include "core/nn/branch.h"
#include "core/nn/norm.h"

namespace approx {
namespace {

class BasicBlockImpl : public torch::nn::Module {
 public:
  BasicBlockImpl(int64_t in_channels, int64_t out_channels, int64_t stride)
      : stride_(stride), new_channels_(out_channels - in_channels) {
    conv1_ = register_module("conv1", Conv(ConvOptions{.in_channels = in_channels,
                                                       .out_channels = out_channels,
                                                       .stride = stride,
                                                       .padding = 1}));
    norm1_ = register_module("norm1", BatchNorm(out_channels));
    conv2_ = register_module(
        "conv2",
        Conv(ConvOptions{.in_channels = out_channels, .out_channels = out_channels, .padding = 1}));
    norm2_ = register_module("norm2", BatchNorm(out_channels));
    branch_ = register_module("branch", Branch(std::vector<Layer*>{conv1_.get(), conv2_.get()}));
  }

  at::Tensor forward(const at::Tensor& x) {
    const auto residual = shortcut(x);
    const auto y = branch_->part([&] { return conv2_(norm1_->relu(conv1_(x))); });
    return branch_->sum(norm2_->add_relu(y, residual, branch_->in_effect()));
  }

 private:
  at::Tensor shortcut(const at::Tensor& x) const {
    if (stride_ == 1 && new_channels_ == 0) return x;
    const auto seen = x.slice(2, 0, c10::nullopt, stride_).slice(3, 0, c10::nullopt, stride_);
    // Half of the new channels on each side.
    return at::constant_pad_nd(seen,
                               {0, 0, 0, 0, new_channels_ / 2, new_channels_ - new_channels_ / 2});
  }

  int64_t stride_, new_channels_;
  Conv conv1_{nullptr}, conv2_{nullptr};
  BatchNorm norm1_{nullptr}, norm2_{nullptr};
  Branch branch_{nullptr};
};
TORCH_MODULE(BasicBlock);

template <int64_t kBlocks>
class ResNetCifar final : public Network {
 public:
  ResNetCifar(const Params&, const NetworkInput& input) {
    stem_ = register_module(
        "stem", Conv(ConvOptions{.in_channels = input.channels, .out_channels = 16, .padding = 1}));
    norm_ = register_module("norm", BatchNorm(16));
    int64_t channels = 16;
    for (int64_t stage = 0; stage < 3; ++stage) {
      for (int64_t block = 0; block < kBlocks; ++block) {
        const int64_t next = int64_t{16} << stage;
        blocks_.push_back(
            register_module(fmt::format("stage{}_block{}", stage + 1, block + 1),
                            BasicBlock(channels, next, stage > 0 && block == 0 ? 2 : 1)));
        channels = next;
      }
    }
    linear_ = register_module("linear", Linear(channels, input.classes));
  }

  at::Tensor forward(at::Tensor x) override {
    x = norm_->relu(stem_(x));
    for (auto& block : blocks_) x = block(x);
    return linear_(x.mean({2, 3}));
  }

 private:
  Conv stem_{nullptr};
  BatchNorm norm_{nullptr};
  std::vector<BasicBlock> blocks_;
  Linear linear_{nullptr};
};

REGISTER_NETWORK("resnet20", ResNetCifar<3>)
    .about("residual network of 20 layers for 32x32 images, parameter-free shortcuts")
    .from_paper("wang2019", "section 3")
    .described_for({});
REGISTER_NETWORK("resnet14", ResNetCifar<2>)
    .about("residual network of 14 layers for 32x32 images: the smaller baseline")
    .from_paper("wang2019", "section 3")
    .described_for({});

}  // namespace
}  // namespace approx
