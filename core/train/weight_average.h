// An exponential moving average of a network's weights, used in evaluation.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "core/train/optimizer.h"

namespace approx {

// Averages parameters and floating-point buffers: the running statistics of a batch norm are
// averaged with their weights. Other buffers keep the network's values.
class WeightAverage {
 public:
  // `tensors` are the network's parameters and buffers; the average starts at their values.
  WeightAverage(const std::vector<NamedTensor>& tensors, double decay);

  // After the update of `step` (from 0): average = d average + (1 - d) value, with d = min(decay,
  // (1 + step) / (10 + step)), so that the first weights are soon forgotten.
  void update(int64_t step);

  // Exchanges the averages with the network's values, without a copy.
  void swap();

  // The averages by the names of their tensors. Callers may read and overwrite them.
  const std::vector<NamedTensor>& state() const { return state_; }

 private:
  double decay_;
  std::vector<at::Tensor> values_, averages_;
  std::vector<NamedTensor> state_;
};

}  // namespace approx
