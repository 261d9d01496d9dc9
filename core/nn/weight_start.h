// How the weights of convolutions start: a recipe's `init`, brought to the layers of a network that
// is being built.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/config/recipe.h"

namespace approx {

// While one lives, convolutions made by its thread start so; without one by kFanOut.
class WeightStartScope {
 public:
  explicit WeightStartScope(WeightStart start);
  ~WeightStartScope();
  WeightStartScope(const WeightStartScope&) = delete;
  WeightStartScope& operator=(const WeightStartScope&) = delete;

 private:
  WeightStart before_;
};

// Draws the weight [Co,Ci/groups,K,K] of a convolution, and its bias [Co] where that is defined,
// from LibTorch's generator, as the scope of the thread says.
void start_convolution(const at::Tensor& weight, const at::Tensor& bias);

// Draws `target` uniformly within 1 / sqrt(fan in) of the weight [Co,Ci/groups,K,K] of a
// convolution: as torch.nn.Conv2d starts its weight and its bias.
void draw_uniform(const at::Tensor& target, const at::Tensor& weight);

}  // namespace approx
