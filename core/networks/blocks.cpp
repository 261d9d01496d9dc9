#include "core/networks/blocks.h"

#include <ATen/ATen.h>

namespace approx {
namespace {

at::Tensor binomial_kernel(int64_t channels) {
  const auto row = at::tensor({1.0f, 2.0f, 1.0f}) / 4;
  return row.outer(row).repeat({channels, 1, 1, 1});
}

}  // namespace

ConvNorm::ConvNorm(torch::nn::Module& owner, const std::string& name, const ConvOptions& conv,
                   const ConvNormOptions& options)
    : conv_(owner.register_module(name, Conv(conv))),
      norm_(owner.register_module(name + "_norm",
                                  BatchNorm(BatchNormOptions{.channels = conv.out_channels,
                                                             .zero_weight = options.zero_norm}))) {
  if (options.blur && conv.stride > 1 && conv.in_channels >= 16) {
    blur_ = owner.register_buffer(name + "_blur", binomial_kernel(conv.in_channels));
  }
}

at::Tensor ConvNorm::convolved(const at::Tensor& x) {
  if (!blur_.defined()) return conv_(x);
  return conv_(at::conv2d(x, blur_, /*bias=*/{}, /*stride=*/1, /*padding=*/1, /*dilation=*/1,
                          /*groups=*/x.size(1)));
}

at::Tensor ConvNorm::operator()(const at::Tensor& x) { return norm_(convolved(x)); }

at::Tensor ConvNorm::relu(const at::Tensor& x) { return norm_->relu(convolved(x)); }

at::Tensor ConvNorm::add_relu(const at::Tensor& convolved, const at::Tensor& residual,
                              const BranchOrders& branch) {
  return norm_->add_relu(convolved, residual, branch);
}

Branch branch_of(torch::nn::Module& block, const std::vector<const ConvNorm*>& convolutions) {
  std::vector<Layer*> layers;
  for (const auto* convolution : convolutions) layers.push_back(convolution->layer());
  return block.register_module("branch", Branch(layers));
}

Shortcut::Shortcut(torch::nn::Module& owner, const BlockShape& s) {
  if (s.stride == 1 && s.in_channels == s.out_channels) return;
  projection_.emplace(owner, "shortcut",
                      ConvOptions{.in_channels = s.in_channels,
                                  .out_channels = s.out_channels,
                                  .kernel = 1,
                                  .stride = s.stride},
                      ConvNormOptions{.blur = s.blur});
}

at::Tensor Shortcut::operator()(const at::Tensor& x) { return projection_ ? (*projection_)(x) : x; }

Bottleneck::Bottleneck(const BlockShape& s)
    : conv1_(*this, "conv1", {.in_channels = s.in_channels, .out_channels = s.width, .kernel = 1}),
      conv2_(*this, "conv2",
             {.in_channels = s.width,
              .out_channels = s.width,
              .stride = s.stride,
              .padding = 1,
              .groups = s.groups},
             {.blur = s.blur}),
      conv3_(*this, "conv3", {.in_channels = s.width, .out_channels = s.out_channels, .kernel = 1},
             {.zero_norm = s.zero_init}),
      shortcut_(*this, s),
      branch_(branch_of(*this, {&conv1_, &conv2_, &conv3_})) {}

at::Tensor Bottleneck::forward(const at::Tensor& x) {
  const auto residual = shortcut_(x);
  const auto y = branch_->part([&] { return conv3_.convolved(conv2_.relu(conv1_.relu(x))); });
  return branch_->sum(conv3_.add_relu(y, residual, branch_->in_effect()));
}

}  // namespace approx
