// Update rules: what a step does to the parameters. By LibTorch's fused kernels, which read and
// write all parameters in one pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/config/recipe.h"
#include "core/train/loss_scale.h"

namespace approx {

using NamedTensor = std::pair<std::string, at::Tensor>;

// The rate of a step: a number, or where it stands on the device of the parameters, [] of
// rate_type(). A captured step must not have the number in it.
using StepRate = std::variant<double, at::Tensor>;

// What LibTorch's fused rules read a learning rate as. On a CPU that is the number's own type, so
// that both kinds of a rate give the same bits; elsewhere the number is rounded to a float.
inline at::ScalarType rate_type(at::Device device) {
  return device.is_cpu() ? at::kDouble : at::kFloat;
}

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Lets the gradients go: a parameter that the next backward pass does not reach has none.
  void zero_grad();

  // Updates every parameter that has a gradient. Those without one keep their value and their
  // state, whatever momentum and weight decay there are. The gradients are first clipped to the
  // recipe's norm over all of them. With `scale` they are first divided by it, and where one of
  // them is not finite nothing is updated. Nothing waits for the device.
  void step(const StepRate& learning_rate, LossScale* scale = nullptr);

  // What the rule remembers, "<parameter>:<what>" and the tensor itself, to be read or overwritten.
  const std::vector<NamedTensor>& state() const { return state_; }

 protected:
  // One thing that a rule remembers of every parameter: a tensor of its shape or a number, 0 at
  // first.
  struct Memory {
    std::string name;
    bool is_number = false;
  };

  // Equal indices belong together.
  struct Lists {
    std::vector<at::Tensor> parameters, gradients;
    std::vector<std::vector<at::Tensor>> memories;  // by memory, then by parameter
  };

  Optimizer(const Recipe& recipe, const std::vector<NamedTensor>& parameters,
            const std::set<std::string>& norm_biases, const std::vector<Memory>& memories);

  // The rule itself, on the parameters of one group: `learning_rate` and `weight_decay` are the
  // group's own. `skip`, if any, is a float [] on the device: where it is 1, nothing changes.
  virtual void update(Lists& lists, const StepRate& learning_rate, double weight_decay,
                      const std::optional<at::Tensor>& skip) = 0;

  const Recipe recipe_;

 private:
  // Fills `reached` and `gradients_` by what the backward pass left.
  void gather();
  struct Group {
    double rate = 1;          // in the learning rate of the step
    double weight_decay = 0;  // what is added to the gradient, in the parameter
    Lists all, reached;  // `reached` by the backward pass; a member so that it keeps its capacity
  };
  // The group of that rate whose parameters decay, or do not.
  Group& group_of(double rate, bool decays);

  std::vector<Group> groups_;
  std::vector<NamedTensor> state_;
  std::vector<at::Tensor> gradients_;  // of all groups
};

// The rule that the recipe names. `parameters` are updated in place. `norm_biases`: the names of
// those that have the recipe's norm_bias_rate.
std::unique_ptr<Optimizer> make_optimizer(const Recipe& recipe,
                                          const std::vector<NamedTensor>& parameters,
                                          const std::set<std::string>& norm_biases = {});

}  // namespace approx
