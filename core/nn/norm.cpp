#include "core/nn/norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <optional>

#include "base/error.h"
#include "core/nn/alive_rows.h"
#include "core/nn/branch.h"
#include "core/nn/gradient_reader.h"
#include "core/nn/phases.h"
#include "kernels/example_rows.h"
#include "kernels/norm/fused_norm.h"

namespace approx {
namespace {

std::vector<BatchNormImpl*> norms_of(const torch::nn::Module& network) {
  std::vector<BatchNormImpl*> norms;
  for (const auto& module : network.modules()) {
    if (auto* norm = dynamic_cast<BatchNormImpl*>(module.get())) norms.push_back(norm);
  }
  return norms;
}

// A batch in `count` parts of so many images, the last of fewer; of an undefined tensor as many
// undefined ones.
std::vector<at::Tensor> in_parts(const at::Tensor& batch, int64_t images, size_t count) {
  if (count == 1 || !batch.defined()) return std::vector<at::Tensor>(count, batch);
  return batch.split(images);
}

// What a norm in training did with its tensors.
struct NormCall {
  std::vector<NormStatistics> statistics;  // of each part of the batch
  int64_t part_images = 0;                 // of all parts but the last
  ShapedTail tail = NormTail::kNone;
  std::shared_ptr<Collectives> ranks;  // null: none
  double scale = 1;                    // see BranchOrders; of kAddRelu alone
};

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
    const auto found = gradients_of(gradients[0]);
    if (call.scale != 1) {
      found.dweight.mul_(call.scale);
      found.dbias.mul_(call.scale);
    }
    result = {found.dx, found.dweight, found.dbias, found.dresidual};
    return result;
  }

  void release_variables() override {
    x.reset_data();
    kept.reset_data();
    weight.reset_data();
    bias.reset_data();
  }

  torch::autograd::SavedVariable x, weight, bias;
  torch::autograd::SavedVariable kept;  // of a tail that adds a residual (norm_backward())
  NormCall call;

 private:
  NormGradients gradients_of(const at::Tensor& dy) {
    const bool one_part = call.statistics.size() == 1;
    const auto rows = rows_that_stay(dy);
    if (!rows) return one_part ? of_one_part(dy) : of_several_parts(dy);
    // All ranks must take part in the means.
    if (one_part && call.ranks == nullptr && rows->index.numel() > 0) {
      return of_examples(dy, *rows);
    }
    auto found = one_part ? of_one_part(dy) : of_several_parts(dy);
    found.dx = with_others_zero(take_examples(found.dx, rows->index), *rows, dy.size(0));
    return found;
  }

  // The examples that have a gradient before the norm, if a method drops the others; nothing: all.
  std::optional<AliveRows> rows_that_stay(const at::Tensor& dy) {
    if (const auto* noted = alive_rows(dy)) return *noted;
    const auto* reader = dynamic_cast<GradientReader*>(next_edge(0).function.get());
    if (reader == nullptr || !reader->drops_examples()) return std::nullopt;
    // No method has chosen these, so the layer before still samples them.
    AliveRows found{nonzero_examples(dy), /*ratio=*/1};
    if (found.index.numel() == dy.size(0)) return std::nullopt;
    return found;
  }

  static at::Tensor with_others_zero(const at::Tensor& part, const AliveRows& rows,
                                     int64_t examples) {
    auto whole = put_examples(part, rows.index, examples);
    note_alive_rows(whole, rows);
    return whole;
  }

  // Works on the examples that stay alone. The others add nothing to the sums, and the means are
  // over all examples.
  NormGradients of_examples(const at::Tensor& dy, const AliveRows& rows) {
    const auto examples_of = [&rows](const at::Tensor& whole) {
      return whole.defined() ? take_examples(whole, rows.index) : whole;
    };
    const int64_t all = dy.size(0);
    const double share = static_cast<double>(rows.index.numel()) / static_cast<double>(all);
    const auto& [mean, variance, inverse_deviation] = call.statistics.front();
    auto found = norm_backward(
        examples_of(dy), examples_of(kept.unpack(shared_from_this())), examples_of(x.unpack()),
        scaled_gamma(), bias.unpack(), mean, inverse_deviation, call.tail, /*visitor=*/nullptr,
        /*variant=*/{}, [share](const at::Tensor& sums) { sums.mul_(share); });
    found.dx = with_others_zero(found.dx, rows, all);
    if (found.dresidual.defined()) found.dresidual = with_others_zero(found.dresidual, rows, all);
    return found;
  }

  NormGradients of_one_part(const at::Tensor& dy) {
    // The layer before, if it is one that looks at its gradient.
    auto* reader = dynamic_cast<GradientReader*>(next_edge(0).function.get());
    const auto& [mean, variance, inverse_deviation] = call.statistics.front();
    return norm_backward(
        dy, kept.unpack(shared_from_this()), x.unpack(), scaled_gamma(), bias.unpack(), mean,
        inverse_deviation, call.tail, reader == nullptr ? nullptr : reader->visitor(*this),
        /*variant=*/{}, call.ranks == nullptr ? MeanOfParts() : [this](const at::Tensor& sums) {
          call.ranks->sum(sums);
          sums.div_(static_cast<double>(call.ranks->world().size));
        });
  }

  // gamma times the scale. After kAddRelu gamma is read for dx alone, which is proportional to it.
  at::Tensor scaled_gamma() {
    const auto gamma = weight.unpack();
    return call.scale == 1 ? gamma : gamma * call.scale;
  }

  // The layer before is not shown its gradient. A visitor sees one gradient from beginning to end;
  // here each part is written by a pass of its own. The layer looks at the whole one afterwards.
  NormGradients of_several_parts(const at::Tensor& gradient) {
    const auto parts_of = [this](const at::Tensor& batch) {
      return in_parts(batch, call.part_images, call.statistics.size());
    };
    const auto all_x = x.unpack(), gamma = scaled_gamma(), beta = bias.unpack();
    NormGradients whole{at::empty_like(all_x), at::zeros_like(gamma), at::zeros_like(beta), {}};
    if (adds_residual(call.tail.kind)) whole.dresidual = at::empty_like(all_x);
    const auto dy = parts_of(gradient.contiguous(at::MemoryFormat::ChannelsLast));
    const auto of_kept = parts_of(kept.unpack(shared_from_this())), of_x = parts_of(all_x);
    const auto dx = parts_of(whole.dx), dresidual = parts_of(whole.dresidual);
    for (size_t i = 0; i < call.statistics.size(); ++i) {
      NormGradients part{dx[i], {}, {}, dresidual[i]};
      norm_backward_into(part, dy[i], of_kept[i], of_x[i], gamma, beta, call.statistics[i].mean,
                         call.statistics[i].inverse_deviation, call.tail);
      whole.dweight.add_(part.dweight);
      whole.dbias.add_(part.dbias);
    }
    return whole;
  }
};

// y with the gradients of norm_forward, if any is wanted.
at::Tensor with_history(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
                        const at::Tensor& bias, const at::Tensor& residual, NormCall call) {
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
  torch::autograd::set_history(y, node);
  if (call.tail.kind == NormTail::kAddRelu) {
    node->kept = torch::autograd::SavedVariable(y, /*is_output=*/true);
  } else if (call.tail.kind == NormTail::kAddGelu) {
    node->kept = torch::autograd::SavedVariable(residual, /*is_output=*/false);
  }
  node->call = std::move(call);
  return y;
}

// The backward pass of max(0, z + residual) if z has no gradient.
class StoppedReluBackward final : public torch::autograd::Node {
 public:
  std::string name() const override { return "StoppedReluBackward"; }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    if (!gradients[0].defined()) return {at::Tensor()};
    const PhaseScope phase(Phase::kNormalisation);
    return {at::threshold_backward(gradients[0], y.unpack(shared_from_this()), 0)};
  }

  void release_variables() override { y.reset_data(); }

  torch::autograd::SavedVariable y;  // the result
};

// The sum of what parts have, [C] each, all but the last times `each`.
at::Tensor weighted_sum(const std::vector<at::Tensor>& of_parts, double each, double last) {
  const auto all = at::stack(of_parts).to(at::kDouble);
  return (all.sum(0) * each + all[-1] * (last - each)).to(at::kFloat);
}

// What makes the biased variance of so many numbers unbiased.
double unbiasing(int64_t count) {
  return static_cast<double>(count) / static_cast<double>(std::max<int64_t>(1, count - 1));
}

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
  for (auto* norm : norms_of(network)) norm->ranks = ranks;
}

bool set_ghost_batch(const torch::nn::Module& network, int64_t images) {
  const auto norms = norms_of(network);
  for (auto* norm : norms) norm->ghost_batch = images;
  return !norms.empty();
}

RenewedStatistics::RenewedStatistics(const torch::nn::Module& network) {
  for (auto* norm : norms_of(network)) {
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

at::Tensor BatchNormImpl::add_relu(const at::Tensor& x, const at::Tensor& residual,
                                   const BranchOrders& branch) {
  if (!branch.stopped) return run(x, NormTail::kAddRelu, residual, branch.scale);
  at::Tensor y;
  {
    const at::NoGradGuard no_grad;
    y = run(x, NormTail::kAddRelu, residual);
  }
  if (!at::GradMode::is_enabled() || !residual.requires_grad()) return y;
  const auto node =
      std::shared_ptr<StoppedReluBackward>(new StoppedReluBackward(), torch::autograd::deleteNode);
  node->set_next_edges(torch::autograd::collect_next_edges(residual));
  torch::autograd::set_history(y, node);
  node->y = torch::autograd::SavedVariable(y, /*is_output=*/true);
  return y;
}

// The gradient behind the sum is needed for the residual alone, so the sum itself is kept.
at::Tensor BatchNormImpl::add_gelu(const at::Tensor& x, const at::Tensor& residual,
                                   const BranchOrders& branch) {
  if (branch.plain()) return run(x, NormTail::kAddGelu, residual);
  at::Tensor z;
  {
    const at::AutoGradMode graph(at::GradMode::is_enabled() && !branch.stopped);
    z = with_scaled_gradient(run(x, NormTail::kNone, {}), branch.scale);
  }
  return at::gelu(z + residual);
}

at::Tensor BatchNormImpl::run(const at::Tensor& x, const ShapedTail& tail,
                              const at::Tensor& residual, double scale) {
  NormInputs::note(x);
  // Evaluation with a graph is left to LibTorch.
  const bool fits = !library_alone() && fused_norm_fits(x) && weight.scalar_type() == at::kFloat &&
                    (!residual.defined() || residual.scalar_type() == x.scalar_type()) &&
                    (is_training() || !at::GradMode::is_enabled());
  if (!fits && ranks != nullptr && is_training()) {
    throw usage_error("norm_statistics = synchronised needs this program's own batch norm");
  }
  if (!fits) return composed(x, tail, residual, scale);
  if (!is_training()) {
    return norm_forward(x, weight, bias, running_mean, (running_variance + epsilon_).rsqrt_(), tail,
                        residual);
  }

  std::vector<NormStatistics> statistics;
  at::Tensor y;
  int64_t part_images = 0;
  {
    const at::NoGradGuard no_grad;
    const PhaseScope phase(Phase::kNormalisation);
    const auto parts = parts_of(x);
    part_images = parts[0].size(0);
    if (parts.size() == 1 && ranks == nullptr) {
      statistics.push_back(
          norm_statistics_moving(x, epsilon_, running(), unbiasing(x.numel() / x.size(1))));
    } else {
      for (const auto& part : parts) {
        statistics.push_back(norm_statistics(part, epsilon_));
        if (ranks != nullptr) statistics.back() = over_all(statistics.back(), epsilon_, *ranks);
      }
      update_running(statistics, x);
    }
    y = at::empty_like(x);
    const auto of_y = in_parts(y, part_images, parts.size());
    const auto added = in_parts(residual, part_images, parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      norm_forward_into(of_y[i], parts[i], weight, bias, statistics[i].mean,
                        statistics[i].inverse_deviation, tail, added[i]);
    }
  }
  return with_history(y, x, weight, bias, residual,
                      {std::move(statistics), part_images, tail, ranks, scale});
}

at::Tensor norm_relu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                     const NormStatistics& statistics) {
  const PhaseScope phase(Phase::kNormalisation);
  at::Tensor y;
  {
    const at::NoGradGuard no_grad;
    y = norm_forward(x, weight, bias, statistics.mean, statistics.inverse_deviation,
                     NormTail::kRelu, {});
  }
  return with_history(y, x, weight, bias, {}, {{statistics}, x.size(0), NormTail::kRelu, {}, 1});
}

std::vector<at::Tensor> BatchNormImpl::parts_of(const at::Tensor& x) const {
  const int64_t images = x.size(0);
  if (ghost_batch == 0 || ghost_batch >= images) return {x};
  auto parts = x.split(ghost_batch);
  if (parts.back().numel() == x.size(1)) {
    throw usage_error(
        "ghost_batch = {} leaves a part of one pixel of a batch of {} on maps of {}x{}, which has "
        "no variance: set it to a divisor of the batch above 1",
        ghost_batch, images, x.size(2), x.size(3));
  }
  return parts;
}

at::Tensor BatchNormImpl::composed(const at::Tensor& x, const ShapedTail& tail,
                                   const at::Tensor& residual, double scale) {
  const auto parts = is_training() ? parts_of(x) : std::vector<at::Tensor>{x};
  auto y = parts.size() > 1
               ? composed_in_parts(parts, x.size(0))
               : at::batch_norm(x, weight, bias, running_mean, running_variance, is_training(),
                                momentum_, epsilon_, /*cudnn_enabled=*/true);
  y = with_scaled_gradient(std::move(y), scale);  // before anybody changes y in place
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
    case NormTail::kAddGelu:
      return at::gelu(y.add_(residual));
  }
  return y;
}

at::Tensor BatchNormImpl::composed_in_parts(const std::vector<at::Tensor>& parts, int64_t images) {
  std::vector<at::Tensor> normalised, means, variances;
  for (const auto& part : parts) {
    means.push_back(at::zeros_like(running_mean));
    variances.push_back(at::zeros_like(running_variance));
    // With a momentum of 1 the running statistics are those of the part.
    normalised.push_back(at::batch_norm(part, weight, bias, means.back(), variances.back(),
                                        /*training=*/true, /*momentum=*/1, epsilon_,
                                        /*cudnn_enabled=*/true));
  }
  {
    const at::NoGradGuard no_grad;
    const auto all = static_cast<double>(images);
    const double each = static_cast<double>(ghost_batch) / all,
                 last = static_cast<double>(parts.back().size(0)) / all;
    move_running(running(), weighted_sum(means, each, last), weighted_sum(variances, each, last),
                 1);
  }
  return at::cat(normalised);
}

void BatchNormImpl::update_running(const std::vector<NormStatistics>& parts, const at::Tensor& x) {
  const int64_t images = x.size(0), plane = x.size(2) * x.size(3);
  if (parts.size() == 1) {
    const int64_t count = images * plane * (ranks == nullptr ? 1 : ranks->world().size);
    move_running(running(), parts[0].mean, parts[0].variance, unbiasing(count));
    return;
  }
  const auto whole = static_cast<int64_t>(parts.size()) - 1;
  const int64_t rest = images - whole * ghost_batch;
  const auto share = [&](int64_t of) {
    return static_cast<double>(of) / static_cast<double>(images);
  };
  std::vector<at::Tensor> means, variances;
  for (const auto& part : parts) {
    means.push_back(part.mean);
    variances.push_back(part.variance);
  }
  move_running(running(), weighted_sum(means, share(ghost_batch), share(rest)),
               weighted_sum(variances, share(ghost_batch) * unbiasing(ghost_batch * plane),
                            share(rest) * unbiasing(rest * plane)),
               1);
}

}  // namespace approx
