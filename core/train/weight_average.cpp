#include "core/train/weight_average.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>

#include <algorithm>

namespace approx {

WeightAverage::WeightAverage(const std::vector<NamedTensor>& tensors, double decay)
    : decay_(decay) {
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.is_floating_point()) continue;
    values_.push_back(tensor);
    averages_.push_back(tensor.detach().clone());
    state_.emplace_back(name, averages_.back());
  }
}

void WeightAverage::update(int64_t step) {
  const at::NoGradGuard no_grad;
  const auto done = static_cast<double>(step);
  const double decay = std::min(decay_, (1 + done) / (10 + done));
  at::_foreach_lerp_(averages_, values_, at::Scalar(1 - decay));
}

void WeightAverage::swap() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < values_.size(); ++i) {
    const at::Tensor value = values_[i].tensor_data();
    values_[i].set_data(averages_[i]);
    averages_[i].set_data(value);
  }
}

}  // namespace approx
