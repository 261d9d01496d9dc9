// Update rules: how a step changes the parameters. They use LibTorch's fused kernels, which read
// and write all parameters in one pass.
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

// The learning rate of a step: a number, or a tensor [] of rate_type() on the device of the
// parameters. A captured step must use the tensor, as a number would be fixed in the graph.
using StepRate = std::variant<double, at::Tensor>;

// The type in which LibTorch's fused rules read a learning rate. On a CPU it is the type of the
// number, so that both kinds of a rate give equal bits. Elsewhere the number is rounded to a float.
inline at::ScalarType rate_type(at::Device device) {
  return device.is_cpu() ? at::kDouble : at::kFloat;
}

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Drops the gradients: a parameter that the next backward pass does not reach has none.
  void zero_grad();

  // Updates every parameter that has a gradient. Parameters without one keep their value and their
  // state, whatever the momentum and weight decay. The gradients are first clipped to the recipe's
  // norm over all of them. With `scale` they are first divided by it, and nothing is updated if one
  // of them is not finite. Does not wait for the device.
  void step(const StepRate& learning_rate, LossScale* scale = nullptr);

  // The state of the rule, "<parameter>:<what>" and the tensor. Callers may read and overwrite it.
  const std::vector<NamedTensor>& state() const { return state_; }

 protected:
  // One part of a rule's state for every parameter: a tensor of its shape or a number, initially 0.
  struct Memory {
    std::string name;
    bool is_number = false;
  };

  // The lists have equal order: one index is one parameter.
  struct Lists {
    std::vector<at::Tensor> parameters, gradients;
    std::vector<std::vector<at::Tensor>> memories;  // by memory, then by parameter
  };

  Optimizer(const Recipe& recipe, const std::vector<NamedTensor>& parameters,
            const std::set<std::string>& norm_biases, const std::vector<Memory>& memories);

  // The rule itself, on the parameters of one group. `learning_rate` and `weight_decay` are those
  // of the group. `skip`, if any, is a float [] on the device: if it is 1, nothing changes.
  virtual void update(Lists& lists, const StepRate& learning_rate, double weight_decay,
                      const std::optional<at::Tensor>& skip) = 0;

  const Recipe recipe_;

 private:
  // Fills `reached` and `gradients_` after the backward pass.
  void gather();
  struct Group {
    double rate = 1;          // factor of the step's learning rate
    double weight_decay = 0;  // factor of the parameter that is added to the gradient
    Lists all, reached;       // reached by the backward pass; a member to keep its capacity
  };
  // The group with that rate whose parameters decay, or do not.
  Group& group_of(double rate, bool decays);

  std::vector<Group> groups_;
  std::vector<NamedTensor> state_;
  std::vector<at::Tensor> gradients_;  // of all groups
};

// The rule that the recipe names. It updates `parameters` in place. `norm_biases`: the names of
// parameters with the recipe's norm_bias_rate.
std::unique_ptr<Optimizer> make_optimizer(const Recipe& recipe,
                                          const std::vector<NamedTensor>& parameters,
                                          const std::set<std::string>& norm_biases = {});

}  // namespace approx
