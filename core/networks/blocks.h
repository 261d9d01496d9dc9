// Building blocks of the residual networks.
#pragma once

#include <optional>
#include <string>

#include "core/nn/branch.h"
#include "core/nn/layers.h"
#include "core/nn/norm.h"

namespace approx {

struct ConvNormOptions {
  bool zero_norm = false;  // the norm's weight starts at zero
  bool blur = false;       // low-pass filter before a convolution with a stride
};

// A convolution and the batch norm behind it, registered with their owner as NAME and NAME_norm.
//
// `blur` is Zhang 2019 ("Making convolutional networks shift-invariant again") as in FFCV's
// ImageNet training. It filters the input of a convolution that has a stride of 2 and at least 16
// input channels. Each channel is filtered with the 3x3 binomial kernel [1 2 1]' [1 2 1] / 16,
// stride 1, padding 1. Other convolutions, such as the stem's, and the pooling are not changed. The
// filter is fixed: it is no layer, has no parameters and is not counted in any total.
class ConvNorm {
 public:
  ConvNorm(torch::nn::Module& owner, const std::string& name, const ConvOptions& conv,
           const ConvNormOptions& options = {});

  // x [N,Ci,H,W] -> [N,Co,Ho,Wo]
  at::Tensor operator()(const at::Tensor& x);  // y = norm(conv(x))
  at::Tensor relu(const at::Tensor& x);        // max(0, y)

  // The end of a branch in two parts: conv(x), then max(0, norm(convolved) + residual).
  at::Tensor convolved(const at::Tensor& x);
  at::Tensor add_relu(const at::Tensor& convolved, const at::Tensor& residual,
                      const BranchOrders& branch);

  Layer* layer() const { return conv_.ptr().get(); }

 private:
  Conv conv_;
  BatchNorm norm_;
  at::Tensor blur_;  // [Ci,1,3,3], undefined: none
};

// The branch of a block, registered with it.
Branch branch_of(torch::nn::Module& block, const std::vector<const ConvNorm*>& convolutions);

// The shape of a residual block: its channels, stride and groups.
struct BlockShape {
  int64_t in_channels = 1, width = 1, out_channels = 1;  // width: of the convolutions inside
  int64_t stride = 1, groups = 1;
  bool zero_init = false;  // last norm's weight starts at zero: the block is its shortcut
  bool blur = false;       // see ConvNorm
};

// He et al. 2016, option B. The shortcut is the identity if the block changes no size. Else it is a
// 1x1 convolution with the block's stride and a norm, registered with the owner as "shortcut".
class Shortcut {
 public:
  Shortcut(torch::nn::Module& owner, const BlockShape& shape);
  at::Tensor operator()(const at::Tensor& x);

 private:
  std::optional<ConvNorm> projection_;
};

// 1x1, 3x3, 1x1 with norms, and ReLU after the first, the second and the addition. The stride is in
// the 3x3 convolution, as in torchvision's ResNet "v1.5"; He et al. have it in the first 1x1. Only
// the 3x3 convolution is grouped.
class Bottleneck : public torch::nn::Module {
 public:
  explicit Bottleneck(const BlockShape& shape);
  at::Tensor forward(const at::Tensor& x);

 private:
  ConvNorm conv1_, conv2_, conv3_;
  Shortcut shortcut_;
  Branch branch_;
};

}  // namespace approx
