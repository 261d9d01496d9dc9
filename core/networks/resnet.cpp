// resnet18, resnet34, resnet50, resnet101, resnet152: the residual networks of He et al. 2016 for
// photographs (their Table 1), with projections where a block changes a size (option B), in two
// forms:
//
//   imagenet  7x7 stem of stride 2, 3x3 max-pooling of stride 2; bottlenecks with their stride in
//             the 3x3 convolution. What torchvision has, and with it the ImageNet results of
//             Adelman et al. 2021 and McDanel et al. 2022.
//   cifar     Ye et al. 2020, section 6.1: "kernels in first layer are replaced by 3x3 kernels with
//             padding = 1 and stride = 1", and 4x4 average pooling before the classifier. For a
//             32x32 image to end as 4x4 the max-pooling must go, which they do not say. The last
//             pooling is over the whole map here, in both forms.
//
// Any image size will do in either. For `blurpool` see ConvNorm in blocks.h. Weights start as
// torchvision's do: He et al. 2015 over the fan out (init = "fan_out").
#include <ATen/ATen.h>

#include "core/networks/blocks.h"
#include "core/networks/network.h"

namespace approx {
namespace {

class ResNetBasicBlock final : public torch::nn::Module {
 public:
  static constexpr int64_t kExpansion = 1;

  explicit ResNetBasicBlock(const BlockShape& s)
      : conv1_(*this, "conv1",
               {.in_channels = s.in_channels,
                .out_channels = s.width,
                .stride = s.stride,
                .padding = 1},
               {.blur = s.blur}),
        conv2_(*this, "conv2",
               {.in_channels = s.width, .out_channels = s.out_channels, .padding = 1},
               {.zero_norm = s.zero_init}),
        shortcut_(*this, s),
        branch_(branch_of(*this, {&conv1_, &conv2_})) {}

  at::Tensor forward(const at::Tensor& x) {
    const auto residual = shortcut_(x);
    const auto y = branch_->part([&] { return conv2_.convolved(conv1_.relu(x)); });
    return branch_->sum(conv2_.add_relu(y, residual, branch_->in_effect()));
  }

 private:
  ConvNorm conv1_, conv2_;
  Shortcut shortcut_;
  Branch branch_;
};

class ResNetBottleneck final : public Bottleneck {
 public:
  static constexpr int64_t kExpansion = 4;
  using Bottleneck::Bottleneck;
};

enum class ResNetForm { kImagenet, kCifar };
constexpr auto enum_texts(ResNetForm) {
  return std::to_array<EnumText<ResNetForm>>(
      {{ResNetForm::kImagenet, "imagenet"}, {ResNetForm::kCifar, "cifar"}});
}

ConvOptions stem_of(ResNetForm form, int64_t channels) {
  if (form == ResNetForm::kCifar)
    return {.in_channels = channels, .out_channels = 64, .padding = 1};
  return {.in_channels = channels, .out_channels = 64, .kernel = 7, .stride = 2, .padding = 3};
}

template <typename Block, int64_t... kBlocks>
class ResNet final : public Network {
 public:
  ResNet(const Params& params, const NetworkInput& input)
      : form_(params.choice<ResNetForm>("form")),
        stem_(*this, "stem", stem_of(form_, input.channels)) {
    int64_t channels = 64, stage = 0;
    for (const int64_t blocks : {kBlocks...}) {
      const int64_t width = int64_t{64} << stage++;
      for (int64_t block = 1; block <= blocks; ++block) {
        const BlockShape shape{.in_channels = channels,
                               .width = width,
                               .out_channels = width * Block::kExpansion,
                               .stride = stage > 1 && block == 1 ? 2 : 1,
                               .zero_init = params.flag("zero_init"),
                               .blur = params.flag("blurpool")};
        blocks_.push_back(register_module(fmt::format("stage{}_block{}", stage, block),
                                          std::make_shared<Block>(shape)));
        channels = shape.out_channels;
      }
    }
    linear_ = register_module("linear", Linear(channels, input.classes));
  }

  at::Tensor forward(at::Tensor x) override {
    x = stem_.relu(x);
    if (form_ == ResNetForm::kImagenet) x = at::max_pool2d(x, 3, 2, 1);
    for (const auto& block : blocks_) x = block->forward(x);
    return linear_(x.mean({2, 3}));
  }

 private:
  ResNetForm form_;
  ConvNorm stem_;
  std::vector<std::shared_ptr<Block>> blocks_;
  Linear linear_{nullptr};
};

void declare_resnet(NetworkEntry& entry) {
  entry.described_for({.channels = 3, .size = 224, .classes = 1000})
      .param({.name = "form",
              .fallback = std::string("imagenet"),
              .help = "for photographs: 7x7 stem of stride 2, max-pooling; or for 32x32 images",
              .choices = names_of_enum<ResNetForm>()})
      .param({"blurpool", false, "low-pass filter before convolutions of stride 2, as in FFCV"})
      .param({"zero_init", false, "every block starts as its shortcut"});
}

using ResNet18 = ResNet<ResNetBasicBlock, 2, 2, 2, 2>;
using ResNet34 = ResNet<ResNetBasicBlock, 3, 4, 6, 3>;
using ResNet50 = ResNet<ResNetBottleneck, 3, 4, 6, 3>;
using ResNet101 = ResNet<ResNetBottleneck, 3, 4, 23, 3>;
using ResNet152 = ResNet<ResNetBottleneck, 3, 8, 36, 3>;

REGISTER_NETWORK("resnet18", ResNet18)
    .about("residual network of 18 layers, two 3x3 convolutions a block")
    .from_paper("he2016", "Table 1")
    .with(declare_resnet);
REGISTER_NETWORK("resnet34", ResNet34)
    .about("residual network of 34 layers, two 3x3 convolutions a block")
    .from_paper("he2016", "Table 1")
    .with(declare_resnet);
REGISTER_NETWORK("resnet50", ResNet50)
    .about("residual network of 50 layers, bottlenecks of three convolutions")
    .from_paper("he2016", "Table 1")
    .with(declare_resnet);
REGISTER_NETWORK("resnet101", ResNet101)
    .about("residual network of 101 layers, bottlenecks of three convolutions")
    .from_paper("he2016", "Table 1")
    .with(declare_resnet);
REGISTER_NETWORK("resnet152", ResNet152)
    .about("residual network of 152 layers, bottlenecks of three convolutions")
    .from_paper("he2016", "Table 1")
    .with(declare_resnet);

}  // namespace
}  // namespace approx
