#include "core/nn/norm.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <array>

#include "kernels/norm/fused_norm_gpu.h"
#include "tests/core/nn/with_tail.h"
#include "tests/testing.h"

namespace approx {
namespace {

struct NormShape {
  int64_t n, c, h, w;
};

std::ostream& operator<<(std::ostream& out, const NormShape& s) {
  return out << s.n << 'x' << s.c << 'x' << s.h << 'x' << s.w;
}

// Rows that fold and rows that do not, channels that fill vectors and channels that do not.
const std::vector<NormShape> kShapes = {{2, 1, 1, 1},    {2, 3, 5, 7},   {3, 16, 8, 8},
                                        {5, 24, 3, 3},   {4, 64, 9, 5},  {1, 100, 4, 4},
                                        {8, 16, 32, 32}, {2, 513, 3, 1}, {64, 20, 8, 8}};

constexpr std::array kTails = {NormTail::kNone, NormTail::kRelu, NormTail::kAddRelu,
                               NormTail::kGelu, NormTail::kCelu, NormTail::kAddGelu};
constexpr double kAlpha = 0.3;  // of the CELU

struct Outcome {
  at::Tensor y, dx, dresidual, dweight, dbias, running_mean, running_variance;
};

at::Tensor with_tail(const at::Tensor& normalised, NormTail tail, const at::Tensor& residual) {
  switch (tail) {
    case NormTail::kNone:
      return normalised;
    case NormTail::kRelu:
      return normalised.relu();
    case NormTail::kAddRelu:
      return (normalised + residual).relu();
    case NormTail::kGelu:
      return at::gelu(normalised);
    case NormTail::kCelu:
      return at::celu(normalised, kAlpha);
    case NormTail::kAddGelu:
      return at::gelu(normalised + residual);
  }
  return {};
}

struct NormProblem {
  at::Tensor x, residual, dy, weight, bias;
};

NormProblem random_problem(const NormShape& s, at::ScalarType type = at::kFloat) {
  at::manual_seed(s.n * 1000 + s.c);
  const auto map = [&] {
    return at::randn({s.n, s.c, s.h, s.w}).contiguous(at::MemoryFormat::ChannelsLast);
  };
  return {(map() * 3 + 20).to(type), map().to(type), map().to(type), at::randn({s.c}),
          at::randn({s.c})};
}

Outcome by_module(const NormProblem& p, NormTail tail) {
  BatchNorm norm(BatchNormOptions{.channels = p.x.size(1), .celu_alpha = kAlpha});
  {
    const at::NoGradGuard no_grad;
    norm->weight.copy_(p.weight);
    norm->bias.copy_(p.bias);
  }
  const auto x = p.x.clone().requires_grad_(), residual = p.residual.clone().requires_grad_();
  const auto y = with_tail(*norm, x, tail, residual);
  EXPECT_EQ(y.grad_fn()->name(), "FusedBatchNormBackward");
  y.backward(p.dy);
  return {y.detach(),        x.grad(),           residual.grad(),       norm->weight.grad(),
          norm->bias.grad(), norm->running_mean, norm->running_variance};
}

Outcome by_libtorch_in_double(const NormProblem& p, NormTail tail) {
  const auto wide = [](const at::Tensor& t) {
    return t.to(at::kDouble).detach().clone().requires_grad_();
  };
  const auto x = wide(p.x), residual = wide(p.residual), w = wide(p.weight), b = wide(p.bias);
  auto mean = at::zeros({p.x.size(1)}, at::kDouble), variance = at::ones_like(mean);
  const auto y =
      with_tail(at::batch_norm(x, w, b, mean, variance, true, 0.1, 1e-5, false), tail, residual);
  y.backward(p.dy.to(at::kDouble));
  return {y.detach(), x.grad(), residual.grad(), w.grad(), b.grad(), mean, variance};
}

TEST(BatchNorm, ForwardAndBackwardAreLibTorchsInDoublePrecision) {
  for (const auto& shape : kShapes) {
    for (const auto tail : kTails) {
      SCOPED_TRACE(::testing::PrintToString(shape) + " tail " +
                   std::to_string(static_cast<int>(tail)));
      const auto problem = random_problem(shape);
      const auto got = by_module(problem, tail);
      const auto expected = by_libtorch_in_double(problem, tail);
      const auto close = [](const at::Tensor& a, const at::Tensor& b) {
        ASSERT_EQ(a.defined(), b.defined());
        if (!a.defined()) return;
        EXPECT_TRUE(at::allclose(a.to(at::kDouble), b, 1e-4, 2e-5))
            << (a.to(at::kDouble) - b).abs().max().item<double>();
      };
      close(got.y, expected.y);
      close(got.dx, expected.dx);
      close(got.dresidual, expected.dresidual);
      close(got.dweight, expected.dweight);
      close(got.dbias, expected.dbias);
      close(got.running_mean, expected.running_mean);
      if (shape.n * shape.h * shape.w > 1) close(got.running_variance, expected.running_variance);
    }
  }
}

// Statistics and sums keep the precision of floats; what lies in memory is rounded once.
// What the Python package calls: the statistics first, the rest once a ReLU has come.
TEST(BatchNorm, NormAndReluByGivenStatisticsAreTheModules) {
  for (const auto& shape : kShapes) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      SCOPED_TRACE(::testing::PrintToString(shape));
      const auto p = random_problem(shape, type);
      const auto expected = by_module(p, NormTail::kRelu);
      const auto leaf = [](const at::Tensor& t) { return t.clone().requires_grad_(); };
      const auto x = leaf(p.x), weight = leaf(p.weight), bias = leaf(p.bias);
      const auto y = norm_relu(x, weight, bias, norm_statistics(p.x, 1e-5));
      y.backward(p.dy);
      EXPECT_TRUE(at::equal(y, expected.y));
      EXPECT_TRUE(at::equal(x.grad(), expected.dx));
      EXPECT_TRUE(at::equal(weight.grad(), expected.dweight));
      EXPECT_TRUE(at::equal(bias.grad(), expected.dbias));
      EXPECT_FALSE(norm_relu(p.x, p.weight, p.bias, norm_statistics(p.x, 1e-5)).requires_grad());
    }
  }
}

TEST(BatchNorm, InBfloat16OnlyWhatIsStoredIsRounded) {
  constexpr double kRounding = 1.0 / 256;
  for (const auto& shape : kShapes) {
    for (const auto tail : kTails) {
      SCOPED_TRACE(::testing::PrintToString(shape) + " tail " +
                   std::to_string(static_cast<int>(tail)));
      const auto problem = random_problem(shape, at::kBFloat16);
      const auto got = by_module(problem, tail);
      const auto expected = by_libtorch_in_double(problem, tail);
      EXPECT_EQ(got.y.scalar_type(), at::kBFloat16);
      EXPECT_EQ(got.dx.scalar_type(), at::kBFloat16);
      const auto within = [](const at::Tensor& a, const at::Tensor& b, double relative,
                             double absolute = 1e-4) {
        EXPECT_TRUE(at::allclose(a.to(at::kDouble), b, relative, absolute))
            << (a.to(at::kDouble) - b).abs().max().item<double>();
      };
      within(got.y, expected.y, kRounding);
      if (tail == NormTail::kAddRelu) within(got.dresidual, expected.dresidual, 0);
      if (tail == NormTail::kAddGelu) {
        // dx follows from what was stored of the residual's gradient, and is rounded once more.
        within(got.dresidual, expected.dresidual, kRounding);
        within(got.dx, expected.dx, kRounding,
               1e-4 + kRounding * expected.dx.abs().max().item<double>());
      } else {
        within(got.dx, expected.dx, kRounding);
      }
      within(got.dweight, expected.dweight, 1e-4);
      within(got.dbias, expected.dbias, 1e-4);
      within(got.running_mean, expected.running_mean, 1e-5);
    }
  }
}

TEST(BatchNorm, EveryVariantAgreesWithTheDefinition) {
  for (const auto& shape : kShapes) {
    for (const auto tail : kTails) {
      SCOPED_TRACE(::testing::PrintToString(shape) + " tail " +
                   std::to_string(static_cast<int>(tail)));
      const auto p = random_problem(shape);
      const auto truth = norm_statistics(p.x, 1e-5, "reference");
      const auto forward = [&](std::string_view variant) {
        return norm_forward(p.x, p.weight, p.bias, truth.mean, truth.inverse_deviation,
                            {tail, kAlpha}, p.residual, variant);
      };
      const auto y = forward("reference");
      const auto backward = [&](std::string_view variant) {
        return norm_backward(p.dy, tail == NormTail::kAddGelu ? p.residual : y, p.x, p.weight,
                             p.bias, truth.mean, truth.inverse_deviation, {tail, kAlpha},
                             /*visitor=*/nullptr, variant);
      };
      const auto expected = backward("reference");
      for (const auto& variant : Registry<NormVariant>::instance().entries()) {
        SCOPED_TRACE(variant.name);
        const auto statistics = norm_statistics(p.x, 1e-5, variant.name);
        EXPECT_TRUE(close(statistics.mean, truth.mean, 1e-5));
        EXPECT_TRUE(close(statistics.inverse_deviation, truth.inverse_deviation, 1e-4));
        EXPECT_TRUE(close(forward(variant.name), y, 1e-5));
        // A sign that rounding decides lets one entry of the gradient through or not.
        const auto found = backward(variant.name);
        EXPECT_TRUE(at::allclose(found.dweight, expected.dweight, 1e-3, 1e-3));
        EXPECT_TRUE(at::allclose(found.dbias, expected.dbias, 1e-3, 1e-3));
        EXPECT_TRUE(at::allclose(found.dx, expected.dx, 1e-3, 1e-3));
        ASSERT_EQ(found.dresidual.defined(), adds_residual(tail));
        if (tail == NormTail::kAddGelu) {
          EXPECT_CLOSE(found.dresidual, expected.dresidual);
        }
      }
    }
  }
}

// Notes what it was shown, and makes it negative.
class Negating final : public GradientVisitor {
 public:
  void begin(const at::Tensor& gradient, int64_t blocks) override {
    shown = gradient;
    numbers = gradient.mutable_data_ptr<float>();
    seen = at::zeros({gradient.numel()});
    visits = std::vector<int>(static_cast<size_t>(blocks));
  }
  void visit(int64_t block, int64_t first, int64_t last) override {
    EXPECT_EQ(first % 4, 0);
    ++visits[static_cast<size_t>(block)];
    for (int64_t i = first; i < last; ++i) {
      seen.mutable_data_ptr<float>()[i] = numbers[i];
      numbers[i] = -numbers[i];
    }
  }
  GradientLook look(const at::Tensor& /*gradient*/) override {
    ADD_FAILURE() << "asked as on a GPU";
    return {};
  }

  float* numbers = nullptr;
  at::Tensor shown, seen;
  std::vector<int> visits;
};

TEST(BatchNorm, AVisitorSeesEveryBlockOnceWhenItIsWritten) {
  for (const auto& shape : kShapes) {
    SCOPED_TRACE(::testing::PrintToString(shape));
    const auto p = random_problem(shape);
    const auto statistics = norm_statistics(p.x, 1e-5);
    const auto backward = [&](GradientVisitor* visitor) {
      return norm_backward(p.dy, {}, p.x, p.weight, p.bias, statistics.mean,
                           statistics.inverse_deviation, NormTail::kRelu, visitor)
          .dx;
    };
    Negating visitor;
    const auto expected = backward(nullptr), found = backward(&visitor);
    EXPECT_TRUE(found.is_same(visitor.shown));
    EXPECT_TRUE(at::equal(found, -expected));
    EXPECT_TRUE(at::equal(visitor.seen, expected.permute({0, 2, 3, 1}).flatten()));
    for (const int visits : visitor.visits) EXPECT_EQ(visits, 1);
  }
}

// As a GPU computes it where the sums are those of several parts: from their means.
TEST(BatchNorm, AGradientFollowsFromTheMeansOfItsSums) {
  for (const auto& shape : kShapes) {
    SCOPED_TRACE(::testing::PrintToString(shape));
    const auto p = random_problem(shape);
    const auto statistics = norm_statistics(p.x, 1e-5);
    at::Tensor sums;
    const auto found = norm_backward(p.dy, {}, p.x, p.weight, p.bias, statistics.mean,
                                     statistics.inverse_deviation, NormTail::kNone, nullptr, {},
                                     [&](const at::Tensor& own) {
                                       own.mul_(0.75).add_(0.1);  // of others too
                                       sums = own.clone();
                                     });
    const auto [a, b, d] = norm_gradient_factors(sums, p.x.numel() / p.x.size(1), p.weight,
                                                 statistics.mean, statistics.inverse_deviation);
    const auto by_channel = [](const at::Tensor& factor) { return factor.view({1, -1, 1, 1}); };
    EXPECT_CLOSE(by_channel(a) * p.dy + by_channel(b) * p.x + by_channel(d), found.dx);
  }
}

TEST(BatchNorm, TheSameOnAnyNumberOfThreads) {
  const auto problem = random_problem({16, 20, 16, 16});
  const int before = at::get_num_threads();
  for (const auto tail :
       {NormTail::kAddRelu, NormTail::kGelu, NormTail::kCelu, NormTail::kAddGelu}) {
    SCOPED_TRACE(static_cast<int>(tail));
    std::vector<Outcome> outcomes;
    for (const int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      outcomes.push_back(by_module(problem, tail));
    }
    at::set_num_threads(before);
    for (const auto& outcome : outcomes) {
      EXPECT_TRUE(at::equal(outcome.y, outcomes[0].y));
      EXPECT_TRUE(at::equal(outcome.dx, outcomes[0].dx));
      EXPECT_TRUE(at::equal(outcome.dweight, outcomes[0].dweight));
    }
  }
}

TEST(BatchNorm, AMeanFarFromZeroDoesNotCancelTheVariance) {
  at::manual_seed(1);
  const auto x =
      (at::randn({8, 16, 8, 8}) * 0.01 + 1000).contiguous(at::MemoryFormat::ChannelsLast);
  const auto statistics = norm_statistics(x, 0);
  const auto expected = x.to(at::kDouble).var({0, 2, 3}, /*unbiased=*/false);
  EXPECT_TRUE(at::allclose(statistics.variance.to(at::kDouble), expected, 1e-3, 0));
}

TEST(BatchNorm, RunningStatisticsMoveByTheirShare) {
  const auto x = random_problem({3, 20, 5, 5}).x;
  const auto now = norm_statistics(x, 1e-5);
  const RunningStatistics running{at::full({20}, 2.0F), at::full({20}, 0.5F), 0.3};
  const auto also = norm_statistics_moving(x, 1e-5, running, 1.5);
  EXPECT_TRUE(at::equal(also.mean, now.mean) && at::equal(also.variance, now.variance));
  EXPECT_TRUE(close(running.mean, 0.7 * 2.0F + 0.3 * now.mean, 1e-6));
  EXPECT_TRUE(close(running.variance, 0.7 * 0.5F + 0.3 * 1.5 * now.variance, 1e-6));
}

TEST(BatchNorm, AConstantChannelHasNoVariance) {
  const auto x = at::full({4, 16, 4, 4}, 0.1).contiguous(at::MemoryFormat::ChannelsLast);
  const auto statistics = norm_statistics(x, 1e-5);
  EXPECT_TRUE(statistics.variance.eq(0).all().item<bool>());
  EXPECT_TRUE(at::allclose(statistics.mean, at::full({16}, 0.1)));
}

TEST(BatchNorm, WhatIsNotANumberStaysSo) {
  for (const float bad : {NAN, INFINITY}) {
    for (const auto tail :
         {NormTail::kAddRelu, NormTail::kGelu, NormTail::kCelu, NormTail::kAddGelu}) {
      auto problem = random_problem({2, 16, 8, 8});
      problem.x[0][3][2][2] = bad;
      const auto got = by_module(problem, tail);
      EXPECT_TRUE(got.y.select(1, 3).isnan().any().item<bool>());
      EXPECT_TRUE(got.dx.select(1, 3).isnan().any().item<bool>());
      EXPECT_TRUE(got.y.select(1, 4).isfinite().all().item<bool>());
      EXPECT_TRUE(got.running_mean[3].isfinite().logical_not().item<bool>());
    }
  }
}

TEST(BatchNorm, EvaluationUsesTheRunningStatistics) {
  const auto problem = random_problem({4, 24, 6, 6});
  BatchNorm norm(BatchNormOptions{.channels = 24, .celu_alpha = kAlpha});
  norm->relu(problem.x);
  norm->eval();
  const at::NoGradGuard no_grad;
  const auto expected = at::batch_norm(problem.x, norm->weight, norm->bias, norm->running_mean,
                                       norm->running_variance, false, 0.1, 1e-5, false);
  for (const auto tail : kTails) {
    EXPECT_TRUE(at::allclose(with_tail(*norm, problem.x, tail, problem.residual),
                             with_tail(expected, tail, problem.residual), 1e-4, 1e-5))
        << static_cast<int>(tail);
  }
}

// The mean over what passes through, however many batches that is, and nothing of before.
TEST(BatchNorm, StatisticsAreTakenAnewInEvaluation) {
  at::manual_seed(7);
  const at::NoGradGuard no_grad;
  torch::nn::Sequential network(BatchNorm(3), torch::nn::Dropout(0.5));
  auto& norm = *network->ptr<BatchNormImpl>(0);
  network->forward(at::randn({4, 3, 2, 2}));
  network->eval();
  const auto many = at::randn({6, 3, 4, 4}) * 2 + 1, few = at::randn({2, 3, 4, 4}) - 5;
  {
    RenewedStatistics renewed(*network);
    for (const auto& x : {many, few}) {
      renewed.expect(x.size(0));
      network->forward(x);
    }
    EXPECT_FALSE(network->is_training());
    EXPECT_FALSE(network->ptr<torch::nn::DropoutImpl>(1)->is_training());
  }
  EXPECT_FALSE(norm.is_training());
  EXPECT_EQ(norm.momentum(), BatchNormOptions().momentum);
  const std::vector<int64_t> plane = {0, 2, 3};
  EXPECT_TRUE(close(norm.running_mean, (6 * many.mean(plane) + 2 * few.mean(plane)) / 8, 1e-6));
  EXPECT_TRUE(close(norm.running_variance, (6 * many.var(plane) + 2 * few.var(plane)) / 8, 1e-6));
  const auto before = norm.running_mean.clone();
  network->forward(few);
  EXPECT_TRUE(at::equal(norm.running_mean, before)) << "evaluation as ever";
}

// Its slope is at norm(x) + residual, which is computed again from a residual that lies otherwise.
TEST(BatchNorm, AResidualOfAnotherLayoutIsAddedBeforeAGelu) {
  auto problem = random_problem({3, 16, 8, 8});
  const auto wanted = by_module(problem, NormTail::kAddGelu);
  problem.residual = problem.residual.contiguous();
  const auto got = by_module(problem, NormTail::kAddGelu);
  EXPECT_TRUE(at::equal(got.y, wanted.y));
  EXPECT_TRUE(at::equal(got.dx, wanted.dx));
  EXPECT_TRUE(at::equal(got.dresidual, wanted.dresidual));
}

// What a norm keeps for its backward pass may not change before that.
TEST(BatchNorm, AResidualThatChangedBeforeTheBackwardPassIsNoticed) {
  const auto problem = random_problem({3, 16, 8, 8});
  BatchNorm norm(16);
  auto residual = problem.residual.clone();
  const auto y = norm->add_gelu(problem.x, residual);
  residual.add_(1);
  EXPECT_THROW(y.backward(problem.dy), c10::Error);
}

TEST(BatchNorm, OtherLayoutsAndPrecisionsGoThroughLibTorch) {
  const auto problem = random_problem({4, 24, 6, 6});
  BatchNorm norm(BatchNormOptions{.channels = 24, .celu_alpha = kAlpha});
  for (const auto tail : kTails) {
    const auto fused = with_tail(*norm, problem.x, tail, problem.residual);
    const auto first =
        with_tail(*norm, problem.x.contiguous(), tail, problem.residual.contiguous());
    EXPECT_NE(first.grad_fn()->name(), "FusedBatchNormBackward");
    EXPECT_TRUE(at::allclose(first, fused, 1e-4, 1e-5)) << static_cast<int>(tail);
  }
  const auto half = norm->relu(problem.x.to(at::kHalf));
  EXPECT_NE(half.grad_fn()->name(), "FusedBatchNormBackward");
}

TEST(BatchNorm, WithoutAScaleItIsThatOfOneAndHasNoSuchParameter) {
  const auto problem = random_problem({4, 24, 6, 6});
  const BatchNormOptions with{.channels = 24, .epsilon = 1e-12, .momentum = 0.4};
  auto without = with;
  without.scale = false;
  BatchNorm scaled(with), fixed(without);
  EXPECT_EQ(scaled->parameters().size(), 2u);
  ASSERT_EQ(fixed->parameters().size(), 1u);
  EXPECT_TRUE(at::equal(fixed->weight, at::ones({24})));
  const auto x = problem.x.clone().requires_grad_(), other = problem.x.clone().requires_grad_();
  const auto y = fixed->gelu(x), wanted = scaled->gelu(other);
  EXPECT_EQ(y.grad_fn()->name(), "FusedBatchNormBackward");
  EXPECT_TRUE(at::equal(y, wanted));
  y.backward(problem.dy);
  wanted.backward(problem.dy);
  EXPECT_TRUE(at::equal(x.grad(), other.grad()));
  EXPECT_TRUE(at::equal(fixed->bias.grad(), scaled->bias.grad()));
  EXPECT_FALSE(fixed->weight.grad().defined());
  EXPECT_TRUE(close(fixed->running_mean, 0.4 * problem.x.mean({0, 2, 3}), 1e-5));
}

TEST(BatchNorm, RefusesASecondDerivative) {
  const auto problem = random_problem({2, 16, 4, 4});
  BatchNorm norm(16);
  const auto x = problem.x.clone().requires_grad_();
  const auto y = norm->relu(x);
  EXPECT_THROW(torch::autograd::grad({y}, {x}, {problem.dy}, /*retain_graph=*/true,
                                     /*create_graph=*/true),
               Error);
}

}  // namespace
}  // namespace approx
