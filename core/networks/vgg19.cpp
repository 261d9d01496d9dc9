// vgg19: the 16 convolutions of VGG-19 (Simonyan & Zisserman 2015, configuration E) with batch norm
// for 32x32 images. Wang et al. do not say which classifier they put on top; here one linear layer
// after the last pooling, or with hidden > 0 one hidden layer of that many units before it. Nor do
// they say how weights start: convolutions as torchvision's VGGs do (init = "fan_out").
#include <ATen/ATen.h>

#include "core/networks/network.h"
#include "core/nn/norm.h"

namespace approx {
namespace {

class Vgg19 final : public Network {
 public:
  Vgg19(const Params& params, const NetworkInput& input) {
    static constexpr int64_t kConvolutions[] = {2, 2, 4, 4, 4};
    static constexpr int64_t kChannels[] = {64, 128, 256, 512, 512};
    int64_t channels = input.channels;
    for (size_t stage = 0; stage < 5; ++stage) {
      for (int64_t i = 0; i < kConvolutions[stage]; ++i) {
        const auto name = fmt::format("{}_{}", stage + 1, i + 1);
        convs_.emplace_back(register_module(
            "conv" + name,
            Conv(ConvOptions{
                .in_channels = channels, .out_channels = kChannels[stage], .padding = 1})));
        norms_.emplace_back(register_module("norm" + name, BatchNorm(kChannels[stage])));
        pool_after_.push_back(i + 1 == kConvolutions[stage]);
        channels = kChannels[stage];
      }
    }
    const int64_t side = input.size / 32, hidden = params.integer("hidden");
    if (hidden > 0) {
      hidden_ = register_module("hidden", Linear(channels * side * side, hidden));
    }
    linear_ = register_module("linear",
                              Linear(hidden > 0 ? hidden : channels * side * side, input.classes));
  }

  at::Tensor forward(at::Tensor x) override {
    for (size_t i = 0; i < convs_.size(); ++i) {
      x = norms_[i]->relu(convs_[i](x));
      if (pool_after_[i]) x = at::max_pool2d(x, 2);
    }
    x = x.flatten(1);
    if (hidden_) x = hidden_(x).relu_();
    return linear_(x);
  }

 private:
  std::vector<Conv> convs_;
  std::vector<BatchNorm> norms_;
  std::vector<bool> pool_after_;
  Linear hidden_{nullptr}, linear_{nullptr};
};

REGISTER_NETWORK("vgg19", Vgg19)
    .about("VGG-19 with batch norm for 32x32 images")
    .from_paper("wang2019", "section 3")
    .smallest_image(32)
    .described_for({})
    .param({"hidden", int64_t{0}, "units of a hidden layer before the classifier, 0: none", 0});

}  // namespace
}  // namespace approx
