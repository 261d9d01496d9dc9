// Dynamic loss scaling for training in half precision (Micikevicius et al. 2018, section 3.2). All
// of it stays on the device: the host never asks whether a step is skipped.
#pragma once

#include <ATen/core/Tensor.h>

namespace approx {

class LossScale {
 public:
  explicit LossScale(at::Device device);

  // The loss times the scale, for the backward pass.
  at::Tensor scaled(const at::Tensor& loss) const { return loss.mul(scale_); }

  // Divides `gradients` by the scale. The result, float [], is 1 if one of them is not finite, else
  // 0. The scale is then halved, or doubled after 2,000 steps without such a gradient.
  at::Tensor unscale(at::TensorList gradients);

  // For checkpoints, which may overwrite them.
  const at::Tensor& scale() const { return scale_; }               // float []
  const at::Tensor& steps_since_growth() const { return steps_; }  // int []

 private:
  at::Tensor scale_, steps_, not_finite_;
};

}  // namespace approx
