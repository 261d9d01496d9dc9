// The residual branch of a block: the layers between a block's input and the addition of its
// shortcut. A network makes one for each of its blocks and computes the branch through it. The
// schedule tells it before each step whether the branch has a backward pass.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <string>
#include <vector>

#include "core/nn/branch_orders.h"
#include "core/nn/layers.h"

namespace approx {

// Registered with the block as "branch", it has the block's name; registered with the network, the
// name given there is the block's.
class BranchImpl : public torch::nn::Module {
 public:
  // `layers`: all convolutions of the branch, in the order of the forward pass. They must outlive
  // this module.
  explicit BranchImpl(std::vector<Layer*> layers) : layers_(std::move(layers)) {}

  const std::vector<Layer*>& layers() const { return layers_; }

  BranchOrders orders;  // for the next step; they have no effect in evaluation
  std::string block;    // the network fills it in

  BranchOrders in_effect() const { return is_training() ? orders : BranchOrders(); }

  // Computes a part of the branch with `part`, a function without arguments. The operation that
  // adds its result to the shortcut must get in_effect(), as BatchNorm::add_relu does.
  template <typename Part>
  at::Tensor part(const Part& part) const {
    if (!in_effect().stopped) return part();
    const at::NoGradGuard no_grad;
    return part();
  }

  // Computes the whole branch with `branch`. The result can be added to the shortcut.
  template <typename Branch>
  at::Tensor output(const Branch& branch) const {
    return scaled(part(branch));
  }

  // Returns y, the output of the block: branch and shortcut together. If the method of the last
  // layer's data gradient samples blocks (Method::samples_blocks), the gradient of y is sampled
  // before it enters both.
  at::Tensor sum(at::Tensor y) const;

 private:
  // y, whose gradient is multiplied by the scale in effect.
  at::Tensor scaled(at::Tensor y) const;

  std::vector<Layer*> layers_;
};
TORCH_MODULE(Branch);

// y itself, after a function was added to it that multiplies its gradient.
at::Tensor with_scaled_gradient(at::Tensor y, double factor);

}  // namespace approx
