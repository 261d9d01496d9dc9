// alexnet: Krizhevsky, Sutskever & Hinton 2012 in the single-tower layout of Krizhevsky 2014 ("One
// weird trick"), which torchvision has too: five convolutions without any norm, three linear
// layers, dropout before the first two of those. Ye et al. 2020 train it in two forms:
//
//   imagenet  the published sizes: 11x11 of stride 4, then 5x5; 3x3 max-pooling of stride 2 after
//             the first, second and last convolution; 6x6 maps and 4096 units. For images of at
//             least 63 pixels a side, of whatever size: the last map is averaged to 6x6.
//   cifar     section 6.1: "the kernels in first two convolution layers are set as 3x3 with
//             padding = 2 and stride = 1", FC-1 4096x2048, FC-2 2048x2048. They say nothing of the
//             pooling, so it is AlexNet's. It rounds up, as in Caffe, in which they measured: a map
//             of 32 becomes 34 -> 17 -> 19 -> 9 -> 4, and the 256 channels of 4x4 are the 4096
//             inputs of FC-1. Rounded down it would end as 3x3.
//
// Ye et al. do not say how weights start: as in all networks here (init = "fan_out"). torchvision's
// AlexNet has PyTorch's own start (init = "pytorch").
#include <ATen/ATen.h>

#include "base/error.h"
#include "core/networks/network.h"

namespace approx {
namespace {

enum class AlexNetForm { kImagenet, kCifar };
constexpr auto enum_texts(AlexNetForm) {
  return std::to_array<EnumText<AlexNetForm>>(
      {{AlexNetForm::kImagenet, "imagenet"}, {AlexNetForm::kCifar, "cifar"}});
}

class AlexNet final : public Network {
 public:
  AlexNet(const Params& params, const NetworkInput& input)
      : form_(params.choice<AlexNetForm>("form")), dropout_(params.real("dropout")) {
    const bool imagenet = form_ == AlexNetForm::kImagenet;
    if (imagenet && input.size < 63) {
      throw usage_error("{} needs images of at least 63x63 pixels, the data set's are {}x{}",
                        "alexnet:form=imagenet", input.size, input.size);
    }
    add_conv(imagenet
                 ? ConvOptions{.in_channels = input.channels,
                               .out_channels = 64,
                               .kernel = 11,
                               .stride = 4,
                               .padding = 2}
                 : ConvOptions{.in_channels = input.channels, .out_channels = 64, .padding = 2});
    add_conv({.in_channels = 64, .out_channels = 192, .kernel = imagenet ? 5 : 3, .padding = 2});
    add_conv({.in_channels = 192, .out_channels = 384, .padding = 1});
    add_conv({.in_channels = 384, .out_channels = 256, .padding = 1});
    add_conv({.in_channels = 256, .out_channels = 256, .padding = 1});
    const int64_t side = imagenet ? kSide : last_side(input.size), units = imagenet ? 4096 : 2048;
    linear1_ = register_module("linear1", Linear(256 * side * side, units));
    linear2_ = register_module("linear2", Linear(units, units));
    linear3_ = register_module("linear3", Linear(units, input.classes));
  }

  // Where pooling follows, the ReLU comes behind it: the same result of less work.
  at::Tensor forward(at::Tensor x) override {
    x = pooled(convs_[0](x)).relu_();
    x = pooled(convs_[1](x)).relu_();
    x = convs_[2](x).relu_();
    x = convs_[3](x).relu_();
    x = pooled(convs_[4](x)).relu_();
    if (form_ == AlexNetForm::kImagenet) x = at::adaptive_avg_pool2d(x, {kSide, kSide});
    x = linear1_(dropped(x.flatten(1))).relu_();
    x = linear2_(dropped(x)).relu_();
    return linear3_(x);
  }

 private:
  static constexpr int64_t kSide = 6;  // of the imagenet form's last map

  void add_conv(ConvOptions options) {
    options.bias = true;
    convs_.emplace_back(register_module(fmt::format("conv{}", convs_.size() + 1), Conv(options)));
  }

  at::Tensor pooled(const at::Tensor& x) const {
    return at::max_pool2d(x, 3, 2, 0, 1, /*ceil_mode=*/form_ == AlexNetForm::kCifar);
  }

  at::Tensor dropped(const at::Tensor& x) const { return at::dropout(x, dropout_, is_training()); }

  // The last map's side in the cifar form: twice larger by 2 and halved, then halved; half is
  // (size - 3) / 2 + 1, rounded up.
  static int64_t last_side(int64_t size) {
    const auto half = [](int64_t s) { return s / 2; };
    return half(half(half(size + 2) + 2));
  }

  AlexNetForm form_;
  double dropout_;
  std::vector<Conv> convs_;
  Linear linear1_{nullptr}, linear2_{nullptr}, linear3_{nullptr};
};

REGISTER_NETWORK("alexnet", AlexNet)
    .about("AlexNet: five convolutions without norms, three linear layers")
    .from_paper("krizhevsky2014", "")
    .smallest_image(8)
    .described_for({.channels = 3, .size = 224, .classes = 1000})
    .param({.name = "form",
            .fallback = std::string("imagenet"),
            .help = "for photographs, or for 32x32 images as in Ye et al. 2020",
            .choices = names_of_enum<AlexNetForm>()})
    .param({"dropout", 0.5, "share of the inputs of the first two linear layers left out", 0, 1});

}  // namespace
}  // namespace approx
