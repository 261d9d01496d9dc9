#include "core/train/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_sgd.h>

#include "base/error.h"

namespace approx {
namespace {

// The fused kernels walk through memory, so a gradient must lie as its parameter does. Autograd
// sees to it, but for the strides of dimensions of one entry, which say nothing.
at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& gradient) {
  if (gradient.strides() == parameter.strides()) return gradient;
  return at::empty_strided(parameter.sizes(), parameter.strides(), gradient.options())
      .copy_(gradient);
}

// Pascanu, Mikolov & Bengio 2013, Algorithm 1, over all gradients as one vector.
void clip(at::TensorList gradients, double largest) {
  const auto norm = at::stack(at::_foreach_norm(gradients)).norm();
  at::_foreach_mul_(gradients, (largest / norm).clamp_max_(1));
}

// The rate of a group. Of one that stands on a device the product does, too, so that a captured
// step computes it anew.
StepRate times(const StepRate& learning_rate, double factor) {
  if (factor == 1) return learning_rate;
  return std::visit([factor](const auto& rate) -> StepRate { return rate * factor; },
                    learning_rate);
}

// g = gradient + weight_decay w; m = momentum m + g; w -= lr m, or with Nesterov's momentum
// w -= lr (g + momentum m). The first m is g, since m begins at zero.
class Sgd final : public Optimizer {
 public:
  Sgd(const Recipe& recipe, const std::vector<NamedTensor>& parameters,
      const std::set<std::string>& norm_biases)
      : Optimizer(recipe, parameters, norm_biases,
                  recipe.momentum > 0 ? std::vector<Memory>{{"momentum"}} : std::vector<Memory>{}) {
  }

 private:
  void update(Lists& lists, const StepRate& learning_rate, double weight_decay,
              const std::optional<at::Tensor>& skip) override {
    const bool remembers = recipe_.momentum > 0;
    std::visit(
        [&](const auto& rate) {
          at::_fused_sgd_(lists.parameters, lists.gradients,
                          remembers ? at::TensorList(lists.memories[0]) : at::TensorList(),
                          weight_decay, recipe_.momentum, rate, /*dampening=*/0, recipe_.nesterov,
                          /*maximize=*/false, /*is_first_step=*/false, /*grad_scale=*/{}, skip);
        },
        learning_rate);
  }
};

// Kingma & Ba 2015, Algorithm 1, with the L2 term in the gradient.
class Adam final : public Optimizer {
 public:
  Adam(const Recipe& recipe, const std::vector<NamedTensor>& parameters,
       const std::set<std::string>& norm_biases)
      : Optimizer(recipe, parameters, norm_biases,
                  {{"mean"}, {"square"}, {"steps", /*is_number=*/true}}) {}

 private:
  void update(Lists& lists, const StepRate& learning_rate, double weight_decay,
              const std::optional<at::Tensor>& skip) override {
    const auto &mean = lists.memories[0], &square = lists.memories[1], &steps = lists.memories[2];
    at::_foreach_add_(steps, 1);
    std::visit(
        [&](const auto& rate) {
          at::_fused_adam_(lists.parameters, lists.gradients, mean, square, /*max_exp_avg_sqs=*/{},
                           steps, rate, recipe_.beta1, recipe_.beta2, weight_decay, recipe_.epsilon,
                           /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/{}, skip);
        },
        learning_rate);
    if (skip) at::_foreach_sub_(steps, std::vector<at::Tensor>(steps.size(), *skip));
  }
};

}  // namespace

Optimizer::Optimizer(const Recipe& recipe, const std::vector<NamedTensor>& parameters,
                     const std::set<std::string>& norm_biases, const std::vector<Memory>& memories)
    : recipe_(recipe) {
  group_of(1, /*decays=*/true);  // the first, whichever parameter is
  for (const auto& [name, parameter] : parameters) {
    // Biases and what a norm scales by have one dimension, everything else has more.
    const bool decays = recipe.decay_norm || parameter.dim() > 1;
    auto& lists = group_of(norm_biases.contains(name) ? recipe.norm_bias_rate : 1, decays).all;
    lists.memories.resize(memories.size());
    lists.parameters.push_back(parameter);
    for (size_t i = 0; i < memories.size(); ++i) {
      const auto& [what, is_number] = memories[i];
      const auto memory = is_number ? at::zeros({}, parameter.options().dtype(at::kFloat))
                                    : at::zeros_like(parameter);
      lists.memories[i].push_back(memory);
      state_.emplace_back(name + ":" + what, memory);
    }
  }
}

Optimizer::Group& Optimizer::group_of(double rate, bool decays) {
  double decay = decays ? recipe_.weight_decay : 0;
  if (recipe_.decay_form == DecayForm::kPerStep && recipe_.optimizer == UpdateRule::kSgd) {
    decay /= recipe_.learning_rate * rate;
  }
  for (auto& group : groups_) {
    if (group.rate == rate && group.weight_decay == decay) return group;
  }
  return groups_.emplace_back(Group{.rate = rate, .weight_decay = decay, .all = {}, .reached = {}});
}

void Optimizer::zero_grad() {
  for (auto& group : groups_) {
    for (auto& parameter : group.all.parameters) parameter.mutable_grad().reset();
  }
}

void Optimizer::gather() {
  gradients_.clear();
  for (auto& group : groups_) {
    auto &all = group.all, &reached = group.reached;
    reached.parameters.clear();
    reached.gradients.clear();
    reached.memories.resize(all.memories.size());
    for (auto& memory : reached.memories) memory.clear();
    for (size_t i = 0; i < all.parameters.size(); ++i) {
      const auto& parameter = all.parameters[i];
      if (!parameter.grad().defined()) continue;
      reached.parameters.push_back(parameter);
      reached.gradients.push_back(laid_out_like(parameter, parameter.grad()));
      for (size_t m = 0; m < all.memories.size(); ++m) {
        reached.memories[m].push_back(all.memories[m][i]);
      }
      gradients_.push_back(reached.gradients.back());
    }
  }
}

void Optimizer::step(const StepRate& learning_rate, LossScale* scale) {
  const at::NoGradGuard no_grad;
  gather();
  if (gradients_.empty()) return;
  std::optional<at::Tensor> skip;
  if (scale != nullptr) skip = scale->unscale(gradients_);
  if (recipe_.clip_norm > 0) clip(gradients_, recipe_.clip_norm);
  for (auto& group : groups_) {
    if (group.reached.parameters.empty()) continue;
    update(group.reached, times(learning_rate, group.rate), group.weight_decay, skip);
  }
}

std::unique_ptr<Optimizer> make_optimizer(const Recipe& recipe,
                                          const std::vector<NamedTensor>& parameters,
                                          const std::set<std::string>& norm_biases) {
  switch (recipe.optimizer) {
    case UpdateRule::kSgd:
      return std::make_unique<Sgd>(recipe, parameters, norm_biases);
    case UpdateRule::kAdam:
      return std::make_unique<Adam>(recipe, parameters, norm_biases);
  }
  throw Error(ErrorKind::kInternal, "an update rule without an optimizer");
}

}  // namespace approx
