#include "core/norm.h"

#include <ATen/ATen.h>

namespace approx {

BatchNormImpl::BatchNormImpl(const BatchNormOptions& o)
    : epsilon_(o.epsilon), momentum_(o.momentum) {
  weight = register_parameter("weight",
                              o.zero_weight ? at::zeros({o.channels}) : at::ones({o.channels}));
  bias = register_parameter("bias", at::zeros({o.channels}));
  running_mean = register_buffer("running_mean", at::zeros({o.channels}));
  running_variance = register_buffer("running_variance", at::ones({o.channels}));
}

at::Tensor BatchNormImpl::normalised(const at::Tensor& x) {
  return at::batch_norm(x, weight, bias, running_mean, running_variance, is_training(), momentum_,
                        epsilon_, /*cudnn_enabled=*/true);
}

at::Tensor BatchNormImpl::forward(const at::Tensor& x) { return normalised(x); }

at::Tensor BatchNormImpl::relu(const at::Tensor& x) { return normalised(x).relu_(); }

at::Tensor BatchNormImpl::add_relu(const at::Tensor& x, const at::Tensor& residual) {
  return normalised(x).add_(residual).relu_();
}

}  // namespace approx
