#include "core/train/loss_scale.h"

#include <ATen/ATen.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>

namespace approx {

LossScale::LossScale(at::Device device)
    : scale_(at::full({}, 65536.0, at::TensorOptions().dtype(at::kFloat).device(device))),
      steps_(at::zeros({}, at::TensorOptions().dtype(at::kInt).device(device))),
      not_finite_(at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(device))) {}

at::Tensor LossScale::unscale(at::TensorList gradients) {
  not_finite_.zero_();
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, not_finite_, scale_.reciprocal());
  at::_amp_update_scale_(scale_, steps_, not_finite_, /*scale_growth_factor=*/2,
                         /*scale_backoff_factor=*/0.5, /*growth_interval=*/2000);
  return not_finite_;
}

}  // namespace approx
