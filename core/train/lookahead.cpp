#include "core/train/lookahead.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_lerp.h>

#include <algorithm>
#include <cmath>

namespace approx {

Lookahead::Lookahead(const std::vector<NamedTensor>& tensors, int64_t every, double decay)
    : every_(every), decay_(decay) {
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.is_floating_point()) continue;
    values_.push_back(tensor);
    slow_.push_back(tensor.detach().clone());
    state_.emplace_back(name, slow_.back());
  }
}

void Lookahead::update(int64_t done, int64_t total) {
  const bool meets = done % every_ == 0;
  if (!meets && done != total) return;
  const at::NoGradGuard no_grad;
  if (meets) {
    // A timing makes more steps than the training has.
    const double way = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const double share = std::pow(decay_, static_cast<double>(every_)) * way * way * way;
    at::_foreach_lerp_(slow_, values_, at::Scalar(1 - share));
  }
  at::_foreach_copy_(values_, slow_);
}

}  // namespace approx
