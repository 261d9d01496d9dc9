// Slow weights, to which a network returns every few steps.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "core/train/optimizer.h"

namespace approx {

// Lookahead (Zhang et al. 2019, Algorithm 1) as in the CIFAR-10 speed records: the share of the
// slow weights grows during the training. It acts on parameters and floating-point buffers. Other
// buffers keep the network's values.
class Lookahead {
 public:
  // `tensors` are the network's parameters and buffers; the slow weights start as copies. `every`
  // >= 1 steps, `decay` from 0 to 1.
  Lookahead(const std::vector<NamedTensor>& tensors, int64_t every, double decay);

  // Call it after each update; `done` steps of `total` are then complete. After every `every`-th
  // step: slow = c slow + (1 - c) value, with c = decay^every (done / total)^3, and value = slow.
  // After the last step: value = slow, which drops the steps since. Does not wait for a device.
  void update(int64_t done, int64_t total);

  // The slow weights by the names of their tensors. Callers may read and overwrite them.
  const std::vector<NamedTensor>& state() const { return state_; }

 private:
  int64_t every_;
  double decay_;
  std::vector<at::Tensor> values_, slow_;
  std::vector<NamedTensor> state_;
};

}  // namespace approx
