// Batch norms that take the statistics of a batch in parts.
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "core/nn/norm.h"
#include "tests/core/nn/with_tail.h"
#include "tests/testing.h"

namespace approx {
namespace {

struct GhostCase {
  int64_t n, c, h, w, ghost;
};

// Equal parts and a smaller last one, parts of one image, rows that fold and rows that do not.
const std::vector<GhostCase> kGhostCases = {
    {8, 16, 4, 4, 4}, {7, 3, 5, 3, 3}, {5, 24, 3, 3, 1}, {10, 513, 1, 3, 4}, {64, 20, 8, 8, 16}};
constexpr std::array kGhostTails = {NormTail::kNone, NormTail::kRelu, NormTail::kAddRelu,
                                    NormTail::kGelu, NormTail::kCelu, NormTail::kAddGelu};
constexpr double kGhostAlpha = 0.3;

struct GhostProblem {
  GhostProblem(const GhostCase& s, at::ScalarType type, at::MemoryFormat format) {
    at::manual_seed(s.n * 1000 + s.c);
    const auto map = [&](double scale, double shift) {
      return (at::randn({s.n, s.c, s.h, s.w}) * scale + shift).to(type).contiguous(format);
    };
    x = map(3, 20), residual = map(1, 0), dy = map(1, 0);
    weight = at::randn({s.c}), bias = at::randn({s.c});
  }

  at::Tensor x, residual, dy, weight, bias;
};

struct GhostOutcome {
  at::Tensor y, dx, dresidual, dweight, dbias, running_mean, running_variance;

  std::vector<std::pair<std::string, at::Tensor>> named() const {
    return {{"y", y},
            {"dx", dx},
            {"dresidual", dresidual},
            {"dweight", dweight},
            {"dbias", dbias},
            {"running mean", running_mean},
            {"running variance", running_variance}};
  }
};

GhostOutcome by_norm(const GhostProblem& p, NormTail tail, int64_t ghost_batch) {
  BatchNorm norm(BatchNormOptions{.channels = p.x.size(1), .celu_alpha = kGhostAlpha});
  norm->ghost_batch = ghost_batch;
  {
    const at::NoGradGuard no_grad;
    norm->weight.copy_(p.weight);
    norm->bias.copy_(p.bias);
    norm->running_mean.fill_(-2);
  }
  const auto x = p.x.clone().requires_grad_(), residual = p.residual.clone().requires_grad_();
  const auto y = with_tail(*norm, x, tail, residual);
  const bool fused = p.x.is_contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(y.grad_fn()->name() == "FusedBatchNormBackward", fused);
  y.backward(p.dy);
  return {y.detach(),        x.grad(),           residual.grad(),       norm->weight.grad(),
          norm->bias.grad(), norm->running_mean, norm->running_variance};
}

// Every part by LibTorch in double precision, one after the other.
GhostOutcome by_parts_in_double(const GhostProblem& p, NormTail tail, int64_t ghost_batch) {
  const auto wide = [](const at::Tensor& t) {
    return t.to(at::kDouble).detach().clone().requires_grad_();
  };
  const auto x = wide(p.x), residual = wide(p.residual), w = wide(p.weight), b = wide(p.bias);
  const int64_t images = x.size(0);
  std::vector<at::Tensor> parts;
  auto mean = at::zeros({x.size(1)}, at::kDouble), variance = at::zeros_like(mean);
  for (int64_t first = 0; first < images; first += ghost_batch) {
    const auto part = x.narrow(0, first, std::min(ghost_batch, images - first));
    parts.push_back(at::batch_norm(part, w, b, {}, {}, /*training=*/true, 0.1, 1e-5,
                                   /*cudnn_enabled=*/false));
    const auto share = static_cast<double>(part.size(0)) / static_cast<double>(images);
    mean += share * part.detach().mean({0, 2, 3});
    variance += share * part.detach().var({0, 2, 3}, /*unbiased=*/true);
  }
  const auto normalised = at::cat(parts);
  at::Tensor y;
  switch (tail) {
    case NormTail::kNone:
      y = normalised;
      break;
    case NormTail::kRelu:
      y = normalised.relu();
      break;
    case NormTail::kAddRelu:
      y = (normalised + residual).relu();
      break;
    case NormTail::kGelu:
      y = at::gelu(normalised);
      break;
    case NormTail::kCelu:
      y = at::celu(normalised, kGhostAlpha);
      break;
    case NormTail::kAddGelu:
      y = at::gelu(normalised + residual);
      break;
  }
  y.backward(p.dy.to(at::kDouble));
  return {y.detach(),          x.grad(), residual.grad(), w.grad(), b.grad(), 0.9 * -2 + 0.1 * mean,
          0.9 + 0.1 * variance};
}

void expect_alike(const GhostOutcome& got, const GhostOutcome& wanted, double relative,
                  double absolute, double more_of_dx = 0) {
  const auto expected = wanted.named();
  size_t i = 0;
  for (const auto& [name, found] : got.named()) {
    const auto& truth = expected[i++].second;
    ASSERT_EQ(found.defined(), truth.defined()) << name;
    if (!found.defined()) continue;
    EXPECT_TRUE(at::allclose(found.to(at::kDouble), truth, relative,
                             absolute + (name == "dx" ? more_of_dx : 0)))
        << name << " is off by " << (found.to(at::kDouble) - truth).abs().max().item<double>();
  }
}

// Both the fused norm, which takes channels last, and LibTorch's operators.
TEST(GhostBatch, EveryPartIsNormalisedByItself) {
  for (const auto format : {at::MemoryFormat::ChannelsLast, at::MemoryFormat::Contiguous}) {
    for (const auto& shape : kGhostCases) {
      for (const auto tail : kGhostTails) {
        SCOPED_TRACE(fmt::format("{} of {} images, tail {}, {}", shape.ghost, shape.n,
                                 static_cast<int>(tail), static_cast<int>(format)));
        const GhostProblem problem(shape, at::kFloat, format);
        if (problem.x.is_contiguous(at::MemoryFormat::ChannelsLast) !=
            (format == at::MemoryFormat::ChannelsLast)) {
          continue;
        }
        const auto wanted = by_parts_in_double(problem, tail, shape.ghost);
        expect_alike(by_norm(problem, tail, shape.ghost), wanted, 1e-4, 3e-5);
      }
    }
  }
}

TEST(GhostBatch, InBfloat16OnlyWhatIsStoredIsRounded) {
  for (const auto& shape : kGhostCases) {
    for (const auto tail : kGhostTails) {
      SCOPED_TRACE(
          fmt::format("{} of {} images, tail {}", shape.ghost, shape.n, static_cast<int>(tail)));
      const GhostProblem problem(shape, at::kBFloat16, at::MemoryFormat::ChannelsLast);
      const auto got = by_norm(problem, tail, shape.ghost);
      EXPECT_EQ(got.dx.scalar_type(), at::kBFloat16);
      const auto wanted = by_parts_in_double(problem, tail, shape.ghost);
      // Behind an addition and a GELU dx follows from what was stored of the residual's gradient.
      constexpr double kRounded = 1.0 / 256;
      const double more_of_dx =
          tail == NormTail::kAddGelu ? kRounded * wanted.dx.abs().max().item<double>() : 0;
      expect_alike(got, wanted, kRounded, 1e-4, more_of_dx);
    }
  }
}

// Bit for bit: of the whole batch as one part nothing is computed otherwise.
TEST(GhostBatch, TheWholeBatchIsOnePart) {
  for (const auto& shape : kGhostCases) {
    for (const auto tail : kGhostTails) {
      SCOPED_TRACE(fmt::format("{} images, tail {}", shape.n, static_cast<int>(tail)));
      const GhostProblem p(shape, at::kFloat, at::MemoryFormat::ChannelsLast);
      const auto statistics = norm_statistics(p.x, 1e-5);
      const ShapedTail with{tail, kGhostAlpha};
      const auto y = norm_forward(p.x, p.weight, p.bias, statistics.mean,
                                  statistics.inverse_deviation, with, p.residual);
      const auto& kept = tail == NormTail::kAddGelu ? p.residual : y;
      const auto gradients = norm_backward(p.dy, kept, p.x, p.weight, p.bias, statistics.mean,
                                           statistics.inverse_deviation, with);
      for (const int64_t ghost : {int64_t{0}, shape.n, shape.n + 1}) {
        const auto got = by_norm(p, tail, ghost);
        EXPECT_TRUE(at::equal(got.y, y));
        EXPECT_TRUE(at::equal(got.dx, gradients.dx));
        EXPECT_TRUE(at::equal(got.dweight, gradients.dweight));
        EXPECT_TRUE(at::equal(got.dbias, gradients.dbias));
        EXPECT_EQ(got.dresidual.defined(), gradients.dresidual.defined());
        const double count = static_cast<double>(p.x.numel() / p.x.size(1));
        EXPECT_TRUE(close(got.running_variance,
                          0.9 + 0.1 * count / (count - 1) * statistics.variance, 1e-6));
      }
      EXPECT_FALSE(close(by_norm(p, tail, shape.ghost).y, y, 1e-4)) << "the test could not fail";
    }
  }
}

TEST(GhostBatch, EvaluationTakesTheRunningStatistics) {
  const GhostProblem p(kGhostCases[0], at::kFloat, at::MemoryFormat::ChannelsLast);
  BatchNorm norm(16);
  norm->ghost_batch = 4;
  norm->relu(p.x);
  norm->eval();
  const at::NoGradGuard no_grad;
  const auto found = norm->relu(p.x);
  norm->ghost_batch = 0;
  EXPECT_TRUE(at::equal(found, norm->relu(p.x)));
}

// One number has no variance: its norm would be the bias, whatever the number is.
TEST(GhostBatch, RefusesAPartOfOnePixel) {
  for (const auto format : {at::MemoryFormat::ChannelsLast, at::MemoryFormat::Contiguous}) {
    BatchNorm norm(2);
    norm->ghost_batch = 4;
    EXPECT_NO_THROW(norm->forward(at::randn({8, 2, 1, 1}).contiguous(format)));
    EXPECT_NO_THROW(norm->forward(at::randn({9, 2, 1, 2}).contiguous(format)));
    try {
      norm->forward(at::randn({9, 2, 1, 1}).contiguous(format));
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_STREQ(error.what(),
                   "ghost_batch = 4 leaves a part of one pixel of a batch of 9 on maps of 1x1, "
                   "which has no variance: set it to a divisor of the batch above 1");
    }
  }
}

TEST(GhostBatch, IsSetInEveryNormOfANetwork) {
  torch::nn::Sequential with(BatchNorm(3), torch::nn::Dropout(0.5), BatchNorm(3));
  const torch::nn::Sequential without(torch::nn::Dropout(0.5));
  EXPECT_FALSE(set_ghost_batch(*without, 4));
  EXPECT_TRUE(set_ghost_batch(*with, 4));
  int norms = 0;
  for (const auto& module : with->modules()) {
    if (const auto* norm = dynamic_cast<const BatchNormImpl*>(module.get())) {
      EXPECT_EQ(norm->ghost_batch, 4);
      ++norms;
    }
  }
  EXPECT_EQ(norms, 2);
}

}  // namespace
}  // namespace approx
