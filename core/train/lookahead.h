// Slow weights, to which a network returns every few steps.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "core/train/optimizer.h"

namespace approx {

// Lookahead (Zhang et al. 2019, Algorithm 1) as the CIFAR-10 speed records have it: the share of
// the slow weights grows along the training. Of the parameters and of the floating-point buffers
// alike; other buffers stay the network's own.
class Lookahead {
 public:
  // `tensors` are the network's parameters and buffers, which are the slow ones at first. `every`
  // >= 1 steps, `decay` from 0 to 1.
  Lookahead(const std::vector<NamedTensor>& tensors, int64_t every, double decay);

  // To be called after each update; `done` steps of `total` are then made. After every `every`-th:
  // slow = c slow + (1 - c) value, with c = decay^every (done / total)^3, and value = slow. After
  // the last: value = slow, without the steps since. Waits for no device.
  void update(int64_t done, int64_t total);

  // The slow weights by the names of their tensors, to be read or overwritten.
  const std::vector<NamedTensor>& state() const { return state_; }

 private:
  int64_t every_;
  double decay_;
  std::vector<at::Tensor> values_, slow_;
  std::vector<NamedTensor> state_;
};

}  // namespace approx
