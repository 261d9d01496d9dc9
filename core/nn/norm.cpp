#include "core/nn/norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "base/error.h"
#include "core/nn/gradient_reader.h"
#include "core/nn/phases.h"
#include "kernels/norm/fused_norm.h"

namespace approx {
namespace {

class FusedBatchNormBackward final : public torch::autograd::Node {
 public:
  std::string name() const override { return "FusedBatchNormBackward"; }

  // Gradients of x, weight, bias and residual.
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    torch::autograd::variable_list result(4);
    if (!gradients[0].defined()) return result;
    if (at::GradMode::is_enabled()) {
      throw Error(ErrorKind::kUsage,
                  "the gradient of this batch norm has no gradient of its own: call backward "
                  "without create_graph");
    }
    const PhaseScope phase(Phase::kNormalisation);
    // The layer before, if it is one that looks at its gradient.
    auto* reader = dynamic_cast<GradientReader*>(next_edge(0).function.get());
    const auto found = norm_backward(
        gradients[0], y.unpack(shared_from_this()), x.unpack(), weight.unpack(), bias.unpack(),
        statistics.mean, statistics.inverse_deviation, tail,
        reader == nullptr ? nullptr : reader->visitor(*this), /*variant=*/{},
        ranks == nullptr ? MeanOfParts() : [this](const at::Tensor& sums) {
          ranks->sum(sums);
          sums.div_(static_cast<double>(ranks->world().size));
        });
    result = {found.dx, found.dweight, found.dbias, found.dresidual};
    return result;
  }

  void release_variables() override {
    x.reset_data();
    y.reset_data();
    weight.reset_data();
    bias.reset_data();
  }

  torch::autograd::SavedVariable x, y, weight, bias;
  NormStatistics statistics;
  ShapedTail tail = NormTail::kNone;
  std::shared_ptr<Collectives> ranks;  // null: none
};

// The statistics of all images, from those of equal parts: the variance is the mean of the parts'
// variances plus the variance of their means.
NormStatistics over_all(const NormStatistics& own, double epsilon, Collectives& ranks) {
  const auto parts = ranks.gathered(at::stack({own.mean, own.variance})).to(at::kDouble);
  const auto means = parts.select(1, 0), variances = parts.select(1, 1);  // [ranks,C]
  const auto mean = means.mean(0);
  const auto variance = (variances + (means - mean).square()).mean(0);
  return {mean.to(at::kFloat), variance.to(at::kFloat),
          (variance + epsilon).rsqrt().to(at::kFloat)};
}

}  // namespace

void NormInputs::add(const std::shared_ptr<torch::autograd::Node>& node) {
  if (node == nullptr || !nodes_.insert(node).second || node->name() != "AddBackward0") return;
  for (const auto& term : node->next_edges()) add(term.function);
}

void synchronise_norms(const torch::nn::Module& network,
                       const std::shared_ptr<Collectives>& ranks) {
  for (const auto& module : network.modules()) {
    if (auto* norm = dynamic_cast<BatchNormImpl*>(module.get())) norm->ranks = ranks;
  }
}

RenewedStatistics::RenewedStatistics(const torch::nn::Module& network) {
  for (const auto& module : network.modules()) {
    auto* norm = dynamic_cast<BatchNormImpl*>(module.get());
    if (norm == nullptr) continue;
    norms_.push_back({norm, norm->momentum()});
    norm->train();
  }
}

RenewedStatistics::~RenewedStatistics() {
  for (const auto& [norm, momentum] : norms_) {
    norm->set_momentum(momentum);
    norm->eval();
  }
}

void RenewedStatistics::expect(int64_t images) {
  seen_ += images;
  for (const auto& kept : norms_) {
    kept.norm->set_momentum(static_cast<double>(images) / static_cast<double>(seen_));
  }
}

BatchNormImpl::BatchNormImpl(const BatchNormOptions& o)
    : epsilon_(o.epsilon), momentum_(o.momentum), celu_alpha_(o.celu_alpha) {
  weight = o.scale ? register_parameter(
                         "weight", o.zero_weight ? at::zeros({o.channels}) : at::ones({o.channels}))
                   : register_buffer("weight", at::ones({o.channels}));
  bias = register_parameter("bias", at::zeros({o.channels}));
  running_mean = register_buffer("running_mean", at::zeros({o.channels}));
  running_variance = register_buffer("running_variance", at::ones({o.channels}));
}

at::Tensor BatchNormImpl::forward(const at::Tensor& x) { return run(x, NormTail::kNone, {}); }

at::Tensor BatchNormImpl::relu(const at::Tensor& x) { return run(x, NormTail::kRelu, {}); }

at::Tensor BatchNormImpl::gelu(const at::Tensor& x) { return run(x, NormTail::kGelu, {}); }

at::Tensor BatchNormImpl::celu(const at::Tensor& x) {
  return run(x, {NormTail::kCelu, celu_alpha_}, {});
}

at::Tensor BatchNormImpl::add_relu(const at::Tensor& x, const at::Tensor& residual) {
  return run(x, NormTail::kAddRelu, residual);
}

at::Tensor BatchNormImpl::run(const at::Tensor& x, const ShapedTail& tail,
                              const at::Tensor& residual) {
  NormInputs::note(x);
  // Evaluation with a graph is left to LibTorch.
  const bool fits = !library_alone() && fused_norm_fits(x) && weight.scalar_type() == at::kFloat &&
                    (!residual.defined() || residual.scalar_type() == x.scalar_type()) &&
                    (is_training() || !at::GradMode::is_enabled());
  if (!fits && ranks != nullptr && is_training()) {
    throw usage_error("norm_statistics = synchronised needs this program's own batch norm");
  }
  if (!fits) return composed(x, tail, residual);
  if (!is_training()) {
    return norm_forward(x, weight, bias, running_mean, (running_variance + epsilon_).rsqrt_(), tail,
                        residual);
  }

  NormStatistics statistics;
  at::Tensor y;
  {
    const at::NoGradGuard no_grad;
    const PhaseScope phase(Phase::kNormalisation);
    statistics = norm_statistics(x, epsilon_);
    int64_t count = x.numel() / x.size(1);
    if (ranks != nullptr) {
      statistics = over_all(statistics, epsilon_, *ranks);
      count *= ranks->world().size;
    }
    update_running(statistics, count);
    y = norm_forward(x, weight, bias, statistics.mean, statistics.inverse_deviation, tail,
                     residual);
  }
  if (!at::GradMode::is_enabled() ||
      !torch::autograd::any_variable_requires_grad({x, weight, bias, residual})) {
    return y;
  }
  const auto node = std::shared_ptr<FusedBatchNormBackward>(new FusedBatchNormBackward(),
                                                            torch::autograd::deleteNode);
  node->set_next_edges(torch::autograd::collect_next_edges(x, weight, bias, residual));
  node->x = torch::autograd::SavedVariable(x, /*is_output=*/false);
  node->weight = torch::autograd::SavedVariable(weight, /*is_output=*/false);
  node->bias = torch::autograd::SavedVariable(bias, /*is_output=*/false);
  node->statistics = std::move(statistics);
  node->tail = tail;
  node->ranks = ranks;
  torch::autograd::set_history(y, node);
  if (tail.kind == NormTail::kAddRelu)
    node->y = torch::autograd::SavedVariable(y, /*is_output=*/true);
  return y;
}

at::Tensor BatchNormImpl::composed(const at::Tensor& x, const ShapedTail& tail,
                                   const at::Tensor& residual) const {
  auto y = at::batch_norm(x, weight, bias, running_mean, running_variance, is_training(), momentum_,
                          epsilon_, /*cudnn_enabled=*/true);
  switch (tail.kind) {
    case NormTail::kNone:
      return y;
    case NormTail::kRelu:
      return y.relu_();
    case NormTail::kAddRelu:
      return y.add_(residual).relu_();
    case NormTail::kGelu:
      return at::gelu(y);
    case NormTail::kCelu:
      return at::celu(y, tail.alpha);
  }
  return y;
}

void BatchNormImpl::update_running(const NormStatistics& batch, int64_t count) {
  const double unbiased =
      static_cast<double>(count) / static_cast<double>(std::max<int64_t>(1, count - 1));
  const auto move = [&](at::Tensor& running, const at::Tensor& now, double factor) {
    if (!now.is_cpu()) {
      running.mul_(1 - momentum_).add_(now, momentum_ * factor);
      return;
    }
    auto* to = running.mutable_data_ptr<float>();
    const auto* from = now.const_data_ptr<float>();
    for (int64_t c = 0; c < now.numel(); ++c) {
      to[c] = static_cast<float>((1 - momentum_) * to[c] + momentum_ * factor * from[c]);
    }
  };
  move(running_mean, batch.mean, 1);
  move(running_variance, batch.variance, unbiased);
}

}  // namespace approx
