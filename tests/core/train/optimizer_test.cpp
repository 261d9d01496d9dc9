#include "core/train/optimizer.h"

#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <functional>
#include <limits>

#include "tests/testing.h"

namespace approx {
namespace {

// Tensors as a network has them: channels last, of one kernel position, a bias, one number, and as
// long as no vector is.
std::vector<at::Tensor> parameters(uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  std::vector<at::Tensor> tensors;
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{5, 3, 3, 3}, {7, 6, 1, 1}, {4, 9}, {17}, {1}}) {
    auto tensor = at::randn(shape, generator, at::TensorOptions().dtype(at::kFloat));
    if (shape.size() == 4) tensor = tensor.contiguous(at::MemoryFormat::ChannelsLast);
    tensors.push_back(tensor.requires_grad_());
  }
  return tensors;
}

std::vector<NamedTensor> named(const std::vector<at::Tensor>& tensors) {
  std::vector<NamedTensor> pairs;
  for (const auto& tensor : tensors) pairs.emplace_back("p" + std::to_string(pairs.size()), tensor);
  return pairs;
}

// Gradients of one step. `missing` leaves some out, as a frozen layer does.
void give_gradients(const std::vector<at::Tensor>& tensors, uint64_t seed, bool missing = false) {
  auto generator = at::detail::createCPUGenerator(seed);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto gradient =
        at::randn(tensors[i].sizes(), generator, at::TensorOptions().dtype(at::kFloat));
    tensors[i].mutable_grad() = missing && (seed + i) % 3 == 0 ? at::Tensor() : gradient;
  }
}

// Both optimizers take the same random gradients; the parameters must agree after every step.
void expect_same_steps(
    const Recipe& recipe,
    const std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<at::Tensor>)>&
        make_reference) {
  const auto ours = parameters(1), theirs = parameters(1);
  const auto optimizer = make_optimizer(recipe, named(ours));
  const auto reference = make_reference(theirs);
  for (uint64_t step = 0; step < 30; ++step) {
    const double rate = 0.1 / static_cast<double>(1 + step % 5);
    give_gradients(ours, step, /*missing=*/true);
    give_gradients(theirs, step, /*missing=*/true);
    for (auto& group : reference->param_groups()) group.options().set_lr(rate);
    optimizer->step(rate);
    reference->step();
    for (size_t i = 0; i < ours.size(); ++i) {
      // Values are around 1; one that happens to lie near 0 has the rounding of its past.
      ASSERT_TRUE(at::allclose(ours[i], theirs[i], /*rtol=*/1e-5, /*atol=*/1e-6))
          << "step " << step << ", parameter " << i;
    }
  }
}

// As a captured step has it.
TEST(Optimizer, ARateThatStandsInATensorGivesTheSameBits) {
  for (const auto rule : all_of_enum<UpdateRule>()) {
    Recipe recipe;
    recipe.optimizer = rule;
    recipe.weight_decay = 1e-3;
    recipe.clip_norm = 3;
    recipe.norm_bias_rate = 0.3;
    const auto plain = parameters(1), captured = parameters(1);
    const auto by_number = make_optimizer(recipe, named(plain), {"p3"});
    const auto by_tensor = make_optimizer(recipe, named(captured), {"p3"});
    const auto rate = at::zeros({}, rate_type(at::kCPU));
    for (uint64_t step = 0; step < 20; ++step) {
      const double now = 0.1 / static_cast<double>(3 + step);  // no float
      give_gradients(plain, step, /*missing=*/true);
      give_gradients(captured, step, /*missing=*/true);
      by_number->step(now);
      by_tensor->step(rate.fill_(now));
      for (size_t i = 0; i < plain.size(); ++i) {
        ASSERT_TRUE(at::equal(plain[i], captured[i])) << name(rule) << ", step " << step;
      }
    }
  }
}

TEST(Optimizer, SgdIsThatOfLibTorch) {
  for (const double momentum : {0.0, 0.9}) {
    for (const bool nesterov : {false, true}) {
      if (nesterov && momentum == 0) continue;
      for (const double decay : {0.0, 0.01}) {
        Recipe recipe;
        recipe.momentum = momentum;
        recipe.nesterov = nesterov;
        recipe.weight_decay = decay;
        SCOPED_TRACE(testing::Message() << momentum << " " << nesterov << " " << decay);
        expect_same_steps(recipe, [&](std::vector<at::Tensor> tensors) {
          return std::make_unique<torch::optim::SGD>(
              std::move(tensors),
              torch::optim::SGDOptions(0.1).momentum(momentum).nesterov(nesterov).weight_decay(
                  decay));
        });
      }
    }
  }
}

TEST(Optimizer, AdamIsThatOfLibTorch) {
  for (const double decay : {0.0, 0.01}) {
    Recipe recipe;
    recipe.optimizer = UpdateRule::kAdam;
    recipe.beta1 = 0.8;
    recipe.beta2 = 0.99;
    recipe.epsilon = 1e-6;
    recipe.weight_decay = decay;
    expect_same_steps(recipe, [&](std::vector<at::Tensor> tensors) {
      return std::make_unique<torch::optim::Adam>(
          std::move(tensors),
          torch::optim::AdamOptions(0.1).betas({0.8, 0.99}).eps(1e-6).weight_decay(decay));
    });
  }
}

// Autograd may hand over a gradient whose layout is another: of the channels first, or of a
// dimension of one entry with strides of its own.
TEST(Optimizer, AGradientMayLieOtherwiseThanItsParameter) {
  for (const std::string rule : {"sgd", "adam"}) {
    Recipe recipe;
    recipe.optimizer = parse<UpdateRule>(rule, "rule");
    const auto a = parameters(1), b = parameters(1);
    const auto first = make_optimizer(recipe, named(a)), second = make_optimizer(recipe, named(b));
    give_gradients(a, 3);
    for (size_t i = 0; i < a.size(); ++i) {
      const auto gradient = a[i].grad();
      b[i].mutable_grad() = at::empty_like(b[i].detach()).copy_(gradient);
      ASSERT_TRUE(i > 0 || b[i].grad().strides() != gradient.strides()) << "the test tests nothing";
    }
    first->step(0.1);
    second->step(0.1);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << rule << i;
  }
}

TEST(Optimizer, BiasesAndNormsNeedNotDecay) {
  Recipe recipe;
  recipe.weight_decay = 0.5;
  recipe.decay_norm = false;
  recipe.momentum = 0;
  const auto tensors = parameters(1), before = parameters(1);
  const auto optimizer = make_optimizer(recipe, named(tensors));
  for (const auto& tensor : tensors) tensor.mutable_grad() = at::zeros_like(tensor.detach());
  optimizer->step(0.1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const double factor = tensors[i].dim() > 1 ? 1 - 0.1 * 0.5 : 1;
    EXPECT_TRUE(close(tensors[i], before[i] * factor, 1e-6)) << i;
  }
}

// SGD in plain double precision on one number: the published loop of airbench94 on the sum of the
// losses of 1,024 images, where `mean` is the gradient of their mean.
class PlainSgd {
 public:
  PlainSgd(double value, double rate, double decay_a_step, double momentum)
      : value_(value), rate_(rate), decay_(decay_a_step / rate), momentum_(momentum) {}

  double step(double mean, double factor) {
    const double gradient = 1024 * mean + decay_ * value_;
    memory_ = momentum_ * memory_ + gradient;
    value_ -= rate_ * factor * (gradient + momentum_ * memory_);
    return value_;
  }

 private:
  double value_, rate_, decay_, momentum_, memory_ = 0;
};

TEST(Optimizer, ARateAndADecayPerStepAreThoseOfThePublishedLoop) {
  Recipe recipe;
  recipe.momentum = 0.85;
  recipe.nesterov = true;
  recipe.learning_rate = 1.5;
  recipe.weight_decay = 0.0153 / (1 + 1 / 0.15);
  recipe.decay_form = DecayForm::kPerStep;
  recipe.norm_bias_rate = 64;
  const auto tensors = parameters(1);
  // p3 is the bias of a norm, p4 another bias.
  const auto optimizer = make_optimizer(recipe, named(tensors), {"p3"});
  const double kilostep = 1024 * (1 + 1 / (1 - 0.85));
  std::vector<std::vector<PlainSgd>> plain(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto values = tensors[i].detach().to(at::kDouble).flatten();
    for (int64_t k = 0; k < values.numel(); ++k) {
      plain[i].emplace_back(values[k].item<double>(), (i == 3 ? 64 : 1) * 11.5 / kilostep,
                            0.0153 * 1024 / kilostep, 0.85);
    }
  }
  for (uint64_t step = 0; step < 6; ++step) {
    const double factor = 0.2 + 0.15 * static_cast<double>(step);
    give_gradients(tensors, step);
    for (const auto& tensor : tensors) tensor.mutable_grad().mul_(0.01);
    optimizer->step(1.5 * factor);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto gradient = tensors[i].grad().to(at::kDouble).flatten();
      const auto value = tensors[i].detach().to(at::kDouble).flatten();
      for (size_t k = 0; k < plain[i].size(); ++k) {
        const auto at = static_cast<int64_t>(k);
        const double expected = plain[i][k].step(gradient[at].item<double>(), factor);
        ASSERT_NEAR(value[at].item<double>(), expected, 2e-5 * (1 + std::abs(expected)))
            << "step " << step << ", parameter " << i << ", " << k;
      }
    }
  }
}

// At the peak, without a momentum or a gradient, a step takes the same share off all that decays.
TEST(Optimizer, ADecayPerStepDoesNotGoWithTheRate) {
  for (const double rate : {0.05, 2.0}) {
    for (const bool decay_norm : {true, false}) {
      Recipe recipe;
      recipe.momentum = 0;
      recipe.learning_rate = rate;
      recipe.weight_decay = 0.125;
      recipe.decay_form = DecayForm::kPerStep;
      recipe.norm_bias_rate = 8;
      recipe.decay_norm = decay_norm;
      const auto tensors = parameters(1), before = parameters(1);
      const auto optimizer = make_optimizer(recipe, named(tensors), {"p3"});
      for (const auto& tensor : tensors) tensor.mutable_grad() = at::zeros_like(tensor.detach());
      optimizer->step(rate);
      for (size_t i = 0; i < tensors.size(); ++i) {
        const double left = decay_norm || tensors[i].dim() > 1 ? 1 - 0.125 : 1;
        EXPECT_TRUE(close(tensors[i], before[i] * left, 1e-6)) << i;
      }
    }
  }
}

TEST(Optimizer, BiasesOfNormsMayHaveARateOfTheirOwn) {
  for (const auto rule : all_of_enum<UpdateRule>()) {
    Recipe recipe;
    recipe.optimizer = rule;
    recipe.weight_decay = 0.5;
    recipe.decay_form = rule == UpdateRule::kAdam ? DecayForm::kPerStep : DecayForm::kGradient;
    const auto same = parameters(1), own = parameters(1), start = parameters(1);
    const auto first = make_optimizer(recipe, named(same), {"p3"});
    recipe.norm_bias_rate = 16;
    const auto second = make_optimizer(recipe, named(own), {"p3"});
    give_gradients(same, 5);
    give_gradients(own, 5);
    first->step(0.01);
    second->step(0.01);
    for (size_t i = 0; i < same.size(); ++i) {
      const auto change = (same[i] - start[i]) * (i == 3 ? 16 : 1);
      EXPECT_TRUE(close(own[i], start[i] + change, 1e-5)) << name(rule) << " " << i;
      EXPECT_EQ(second->state()[i].first, first->state()[i].first);
    }
  }
}

TEST(Optimizer, LeavesAParameterWithoutAGradientAndItsStateAlone) {
  for (const auto rule : all_of_enum<UpdateRule>()) {
    Recipe recipe;
    recipe.optimizer = rule;
    recipe.weight_decay = 0.1;
    const auto tensors = parameters(1);
    const auto optimizer = make_optimizer(recipe, named(tensors));
    const auto all_of_it = [&] {
      std::vector<at::Tensor> values = {tensors[3].detach().clone()};
      for (const auto& [name, tensor] : optimizer->state()) {
        if (name.starts_with("p3:")) values.push_back(tensor.clone());
      }
      return values;
    };
    for (uint64_t step = 0; step < 6; ++step) {
      const bool lacks = step >= 2 && step < 4;
      give_gradients(tensors, step);
      if (lacks) tensors[3].mutable_grad() = at::Tensor();
      const auto before = all_of_it();
      const auto other = tensors[2].detach().clone();
      optimizer->step(0.1);
      const auto after = all_of_it();
      for (size_t i = 0; i < before.size(); ++i) {
        EXPECT_EQ(at::equal(before[i], after[i]), lacks) << name(rule) << " " << step << " " << i;
      }
      EXPECT_FALSE(at::equal(tensors[2], other)) << name(rule) << " " << step;
    }
  }
}

TEST(Optimizer, ClipsTheNormOfTheWholeGradient) {
  Recipe recipe;
  recipe.momentum = 0;
  const auto norm_of_change = [&](double clip_norm, double size) {
    recipe.clip_norm = clip_norm;
    const auto tensors = parameters(1), before = parameters(1);
    const auto optimizer = make_optimizer(recipe, named(tensors));
    give_gradients(tensors, 1);
    double gradient = 0, change = 0;
    for (const auto& tensor : tensors) {
      tensor.mutable_grad().mul_(size);
      gradient += tensor.grad().square().sum().item<double>();
    }
    optimizer->step(1.0);
    for (size_t i = 0; i < tensors.size(); ++i) {
      change += (tensors[i] - before[i]).square().sum().item<double>();
    }
    return std::pair(std::sqrt(gradient), std::sqrt(change));
  };
  const auto [free_gradient, free_change] = norm_of_change(0, 1);
  EXPECT_NEAR(free_change, free_gradient, 1e-4);
  EXPECT_GT(free_gradient, 2);
  EXPECT_NEAR(norm_of_change(2, 1).second, 2, 1e-4);
  EXPECT_NEAR(norm_of_change(2 * free_gradient, 1).second, free_gradient, 1e-4) << "short enough";
  EXPECT_EQ(norm_of_change(2, 0).second, 0) << "a gradient of nothing stays one";
}

TEST(Optimizer, GoesOnFromASavedState) {
  for (const std::string rule : {"sgd", "adam"}) {
    Recipe recipe;
    recipe.optimizer = parse<UpdateRule>(rule, "rule");
    const auto straight = parameters(1);
    const auto optimizer = make_optimizer(recipe, named(straight));
    std::vector<at::Tensor> resumed;
    std::unique_ptr<Optimizer> second;
    for (uint64_t step = 0; step < 10; ++step) {
      if (step == 4) {
        for (const auto& tensor : straight) {
          resumed.push_back(tensor.detach().clone().requires_grad_());
        }
        second = make_optimizer(recipe, named(resumed));
        ASSERT_EQ(second->state().size(), straight.size() * (rule == "sgd" ? 1 : 3));
        for (size_t i = 0; i < second->state().size(); ++i) {
          EXPECT_EQ(second->state()[i].first, optimizer->state()[i].first);
          second->state()[i].second.copy_(optimizer->state()[i].second);
        }
      }
      give_gradients(straight, step);
      optimizer->step(0.1);
      if (second == nullptr) continue;
      give_gradients(resumed, step);
      second->step(0.1);
    }
    for (size_t i = 0; i < straight.size(); ++i) {
      EXPECT_TRUE(at::equal(straight[i], resumed[i])) << rule << i;
    }
  }
}

// Under a loss scale the update is that of the unscaled gradients, and none where one of them
// overflowed.
TEST(LossScale, SkipsStepsThatOverflowAndHalves) {
  for (const std::string rule : {"sgd", "adam"}) {
    Recipe recipe;
    recipe.optimizer = parse<UpdateRule>(rule, "rule");
    recipe.clip_norm = 3;
    const auto plain = parameters(1), scaled = parameters(1);
    const auto first = make_optimizer(recipe, named(plain)),
               second = make_optimizer(recipe, named(scaled));
    LossScale scale(at::kCPU);
    const double began = scale.scale().item<double>();
    for (uint64_t step = 0; step < 5; ++step) {
      give_gradients(plain, step);
      give_gradients(scaled, step);
      const bool overflows = step == 2;
      for (const auto& tensor : scaled) tensor.mutable_grad().mul_(scale.scale());
      if (overflows) scaled[3].mutable_grad()[5] = std::numeric_limits<float>::infinity();
      if (!overflows) first->step(0.1);
      second->step(0.1, &scale);
      for (size_t i = 0; i < plain.size(); ++i) {
        ASSERT_TRUE(close(scaled[i], plain[i], 1e-5)) << rule << " step " << step << ", " << i;
      }
    }
    EXPECT_EQ(scale.scale().item<double>(), began / 2);
    EXPECT_EQ(scale.steps_since_growth().item<int64_t>(), 2);
    EXPECT_EQ(scale.scaled(at::full({}, 3.0f)).item<double>(), 3 * began / 2);
  }
}

}  // namespace
}  // namespace approx
