// airbench: the CIFAR-10 networks of Jordan 2024 ("94% on CIFAR-10 in 3.29 seconds on a single
// GPU"), as its scripts airbench94, 95 and 96 have them: a frozen 2x2 whitening convolution of 24
// filters with a bias that trains, and GELU; three groups; 3x3 max-pooling; a linear layer without
// bias, whose logits are divided by 9. A group is 3x3 convolution, 2x2 max-pooling, norm, GELU, and
// one more convolution, norm and GELU; in form 96 two more, whose second adds the group's first
// GELU before its own. Norms have no scale and an epsilon of 1e-12. Convolutions start as PyTorch's
// with the identity in their first filters.
//
//   form  widths         norms' momentum
//   94    64, 256, 256   0.4, as PyTorch counts it
//   95    128, 384, 384  0.4
//   96    128, 384, 512  0.1
//
// `width` multiplies the widths, which become multiples of 8: a narrower network to hold methods
// against.
//
// Departures: the images that whiten are the first of the training part, in its order; the last
// pooling is over the whole map, so that images of other sizes fit, which for 32 pixels is the
// same.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/networks/network.h"
#include "core/nn/branch.h"
#include "core/nn/norm.h"

namespace approx {
namespace {

enum class AirbenchForm { k94, k95, k96 };
constexpr auto enum_texts(AirbenchForm) {
  return std::to_array<EnumText<AirbenchForm>>(
      {{AirbenchForm::k94, "94"}, {AirbenchForm::k95, "95"}, {AirbenchForm::k96, "96"}});
}

struct AirbenchShape {
  std::array<int64_t, 3> widths;
  double momentum;
  bool residual;
};

AirbenchShape shape_of(AirbenchForm form) {
  switch (form) {
    case AirbenchForm::k94:
      return {{64, 256, 256}, 0.4, false};
    case AirbenchForm::k95:
      return {{128, 384, 384}, 0.4, false};
    case AirbenchForm::k96:
      return {{128, 384, 512}, 0.1, true};
  }
  return {};
}

class AirbenchGroup final : public torch::nn::Module {
 public:
  AirbenchGroup(int64_t in_channels, int64_t channels, const AirbenchShape& shape) {
    const auto conv = [&](const char* name, int64_t from) {
      return register_module(name, Conv(ConvOptions{.in_channels = from,
                                                    .out_channels = channels,
                                                    .padding = 1,
                                                    .start = ConvStart::kDirac}));
    };
    const auto norm = [&](const char* name) {
      return register_module(
          name,
          BatchNorm(BatchNormOptions{
              .channels = channels, .epsilon = 1e-12, .momentum = shape.momentum, .scale = false}));
    };
    conv1_ = conv("conv1", in_channels);
    norm1_ = norm("norm1");
    conv2_ = conv("conv2", channels);
    norm2_ = norm("norm2");
    if (!shape.residual) return;
    conv3_ = conv("conv3", channels);
    norm3_ = norm("norm3");
    branch_ = register_module("branch", Branch(std::vector<Layer*>{conv2_.get(), conv3_.get()}));
  }

  at::Tensor forward(const at::Tensor& x) {
    const auto first = norm1_->gelu(at::max_pool2d(conv1_(x), 2));
    const auto second = [&] { return norm2_->gelu(conv2_(first)); };
    if (!branch_) return second();
    const auto y = branch_->part([&] { return conv3_(second()); });
    return branch_->sum(norm3_->add_gelu(y, first, branch_->in_effect()));
  }

 private:
  Conv conv1_{nullptr}, conv2_{nullptr}, conv3_{nullptr};
  BatchNorm norm1_{nullptr}, norm2_{nullptr}, norm3_{nullptr};
  Branch branch_{nullptr};
};

class Airbench final : public Network {
 public:
  Airbench(const Params& params, const NetworkInput& input) {
    auto shape = shape_of(params.choice<AirbenchForm>("form"));
    for (auto& width : shape.widths) {
      constexpr int64_t kMultiple = 8;
      const double wanted = params.real("width") * static_cast<double>(width);
      width = kMultiple * std::max<int64_t>(1, std::llround(wanted / kMultiple));
    }
    constexpr int64_t kKernel = 2;
    int64_t channels = whitening_filters(input.channels, kKernel, whitening_);
    whiten_ = register_module("whiten", Conv(ConvOptions{.in_channels = input.channels,
                                                         .out_channels = channels,
                                                         .kernel = kKernel,
                                                         .bias = true,
                                                         .frozen = true}));
    for (size_t i = 0; i < shape.widths.size(); ++i) {
      groups_.push_back(
          register_module(fmt::format("group{}", i + 1),
                          std::make_shared<AirbenchGroup>(channels, shape.widths[i], shape)));
      channels = shape.widths[i];
    }
    linear_ = register_module("linear", Linear(channels, input.classes, /*with_bias=*/false));
  }

  at::Tensor forward(at::Tensor x) override {
    x = at::gelu(whiten_(x));
    for (const auto& group : groups_) x = group->forward(x);
    return linear_(at::max_pool2d(x, {x.size(2), x.size(3)}).flatten(1)) / 9;
  }

  std::optional<WhitenedLayer> whitened() const override {
    return WhitenedLayer{whiten_, whitening_};
  }

 private:
  const WhiteningOptions whitening_;
  Conv whiten_{nullptr};
  std::vector<std::shared_ptr<AirbenchGroup>> groups_;
  Linear linear_{nullptr};
};

REGISTER_NETWORK("airbench", Airbench)
    .about("six to nine convolutions behind a whitening one, for the CIFAR-10 speed record")
    .from_paper("jordan2024", "section 3")
    .param({.name = "form",
            .fallback = std::string("94"),
            .help = "the published script: widths, and in 96 a residual of two convolutions",
            .choices = names_of_enum<AirbenchForm>()})
    .param({.name = "width",
            .fallback = 1.0,
            .help = "of the published widths, in multiples of 8 channels",
            .min = 0.01,
            .max = 16.0})
    .smallest_image(9)
    .described_for({});

}  // namespace
}  // namespace approx
