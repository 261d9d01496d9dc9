// How the weights of convolutions are initialised: brings a recipe's `init` to the layers of a
// network that is being built.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/config/recipe.h"

namespace approx {

// While one lives, convolutions made by its thread are initialised by `start`. Without one they
// start by kFanOut.
class WeightStartScope {
 public:
  explicit WeightStartScope(WeightStart start);
  ~WeightStartScope();
  WeightStartScope(const WeightStartScope&) = delete;
  WeightStartScope& operator=(const WeightStartScope&) = delete;

 private:
  WeightStart before_;
};

// Draws the weight [Co,Ci/groups,K,K] of a convolution, and its bias [Co] if that is defined. Uses
// LibTorch's generator and the initialisation of the thread's scope.
void start_convolution(const at::Tensor& weight, const at::Tensor& bias);

// Draws `target` uniformly within 1 / sqrt(fan in) of the weight [Co,Ci/groups,K,K] of a
// convolution. torch.nn.Conv2d initialises its weight and its bias so.
void draw_uniform(const at::Tensor& target, const at::Tensor& weight);

}  // namespace approx
