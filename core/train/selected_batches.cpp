#include "core/train/selected_batches.h"

#include <ATen/ATen.h>

#include <functional>
#include <limits>
#include <utility>

#include "base/error.h"
#include "core/networks/network.h"
#include "core/nn/norm.h"
#include "core/nn/operator_choice.h"
#include "core/train/parameter_roles.h"
#include "core/train/precision.h"
#include "core/train/whitening.h"

namespace approx {
namespace {

template <typename Items>
void add_named(std::vector<NamedTensor>& tensors, const std::string& prefix, const Items& items) {
  for (const auto& item : items) tensors.emplace_back(prefix + item.key(), item.value());
}

// The norm of the gradient of each loss in its logits [B,classes]: softmax minus what is wanted.
at::Tensor gradient_norms(const at::Tensor& logits, const at::Tensor& labels,
                          const Recipe& recipe) {
  const double smoothing = recipe.label_smoothing;
  auto gradient = at::softmax(logits, 1).sub_(smoothing / static_cast<double>(logits.size(1)));
  const auto wanted = at::full({1}, smoothing - 1, logits.options()).expand({labels.size(0), 1});
  gradient.scatter_add_(1, labels.unsqueeze(1), wanted);
  return at::linalg_vector_norm(gradient, 2, at::IntArrayRef{1});
}

Error other_checkpoint(const std::string& what) {
  return Error(ErrorKind::kData,
               fmt::format("the checkpoint's memory of examples is of another {}; delete the "
                           "checkpoint to begin anew",
                           what));
}

constexpr const char* kSelection = "selection";
constexpr const char* kIds = "selection:ids";
constexpr const char* kWeights = "selection:weights";

}  // namespace

at::Tensor losses_of(const at::Tensor& logits, const at::Tensor& labels, const Recipe& recipe) {
  return at::cross_entropy_loss(logits, labels, {}, at::Reduction::None, /*ignore_index=*/-100,
                                recipe.label_smoothing);
}

// The small network that scores candidates, with an update rule of its own.
class SelectedBatches::Proxy {
 public:
  Proxy(const RunConfig& config, const LoadedDataset& dataset, const DeviceImages& train,
        const NetworkInput& input, ProxySettings settings, at::Device device)
      : config_(config),
        dataset_(dataset),
        train_(train),
        settings_(std::move(settings)),
        device_(device),
        network_(make_network(settings_.network, input, static_cast<uint64_t>(config.seed))) {
    if (config.precision == Precision::kFp16) {
      throw usage_error("selection = {}: its small network does not train in fp16; use bf16",
                        config.selection);
    }
    choose_operators(*network_, config.operators);
    check_whitening(*network_, train);
    network_->to(device);
    std::vector<NamedTensor> parameters;
    for (const auto& item : network_->named_parameters()) {
      if (item.value().requires_grad()) parameters.emplace_back(item.key(), item.value());
    }
    optimizer_ = make_optimizer(config.recipe, parameters, norm_biases(*network_));
    if (config.recipe.first_bias_epochs > 0) first_bias_ = first_convolution_bias(*network_);
    if (config.recipe.ghost_batch > 0) set_ghost_batch(*network_, config.recipe.ghost_batch);
    loss_sum_ = at::zeros({2}, at::TensorOptions().device(device));
    network_->train();
  }

  using Choose = std::function<at::Tensor(const at::Tensor& losses)>;

  // The candidates that `choose` takes by their losses [B], which are those before the update of
  // the step, if it has one.
  at::Tensor chosen(const Batch& candidates, int64_t step, int64_t steps_per_epoch, double rate,
                    const Choose& choose) {
    if (!is_whitened_) whiten(*network_, train_, dataset_, nullptr);
    is_whitened_ = true;
    const bool trains = step % settings_.train_every == 0;
    if (first_bias_.defined()) {
      first_bias_.set_requires_grad(step / steps_per_epoch < config_.recipe.first_bias_epochs);
    }
    const at::AutoGradMode gradients(trains);
    const auto losses = [&] {
      const Autocast autocast(config_.precision, device_.type());
      return losses_of(network_->forward(candidates.x).to(at::kFloat), candidates.labels,
                       config_.recipe);
    }();
    const auto seen = losses.detach();
    loss_sum_ += at::stack({seen.mean(), at::ones_like(seen[0])});
    const auto kept = choose(seen);
    if (trains) {
      optimizer_->zero_grad();
      (settings_.trains_on_all ? losses : losses.index_select(0, kept)).mean().backward();
      optimizer_->step(rate);
    }
    return kept;
  }

  int64_t period() const { return settings_.train_every; }

  std::optional<double> take_loss() {
    const double steps = loss_sum_[1].item<double>();
    if (steps == 0) return std::nullopt;
    const double mean = loss_sum_[0].item<double>() / steps;
    loss_sum_.zero_();
    return mean;
  }

  void add_state(std::vector<NamedTensor>& tensors) const {
    add_named(tensors, "proxy:parameter:", network_->named_parameters());
    add_named(tensors, "proxy:buffer:", network_->named_buffers());
    for (const auto& [name, tensor] : optimizer_->state()) {
      tensors.emplace_back("proxy:optimizer:" + name, tensor);
    }
    tensors.emplace_back("proxy:loss", loss_sum_);
  }

  void went_on(bool after_first_step) { is_whitened_ = after_first_step; }

 private:
  const RunConfig& config_;
  const LoadedDataset& dataset_;
  const DeviceImages train_;
  const ProxySettings settings_;
  const at::Device device_;
  std::shared_ptr<Network> network_;
  std::unique_ptr<Optimizer> optimizer_;
  at::Tensor first_bias_;  // trains in the first epochs alone; undefined: as the other parameters
  at::Tensor loss_sum_;    // [2]: of the mean losses of steps, and the number of these steps
  bool is_whitened_ = false;
};

SelectedBatches::SelectedBatches(const RunConfig& config, const LoadedDataset& dataset,
                                 const DeviceImages& train, const NetworkInput& input,
                                 int64_t batch, int64_t steps)
    : config_(config),
      dataset_sha256_(dataset.sha256),
      sizes_{.examples = train.count(), .batch = batch, .steps = steps},
      device_(train.labels.device()),
      source_(make_selection(config.selection)) {
  if (train.photos) {
    throw usage_error(
        "selection = {}: the photographs of {} are decoded before their step; use a data set of "
        "images of one size",
        config.selection, dataset.name);
  }
  const auto& entry = Registry<SelectionEntry>::instance().find(parse_spec(config.selection).name);
  if (config.purpose == Purpose::kTiming && entry.after_an_epoch) {
    throw usage_error("{}", untimed_selection(config.selection));
  }
  check_leaves_batches(*source_, config.selection, sizes_);
  if (const int64_t ghost = config.recipe.ghost_batch, kept = source_->least_kept(sizes_);
      ghost > 0 && ghost >= kept) {
    throw usage_error(
        "recipe.ghost_batch = {} must be below the {} examples that selection = {} may leave a "
        "step, or 0 for all of them",
        ghost, kept, config.selection);
  }
  if (source_->remembers() != Remembered::kNothing) {
    memory_ = at::full({sizes_.examples}, std::numeric_limits<float>::quiet_NaN(),
                       at::TensorOptions().dtype(at::kFloat).device(device_));
  }
  if (source_->scored_by() == ScoredBy::kProxy) {
    proxy_ = std::make_unique<Proxy>(config_, dataset, train, input, source_->proxy(), device_);
  }
}

SelectedBatches::~SelectedBatches() = default;

Rng SelectedBatches::rng(int64_t step) const {
  return {.seed = static_cast<uint64_t>(config_.seed),
          .step = static_cast<uint64_t>(step),
          .stream = kSelectionStream};
}

EpochPlan SelectedBatches::plan(int64_t epoch, const std::vector<int64_t>& order) {
  const bool chooses = source_->scored_by() != ScoredBy::kNobody;
  if (chooses) draw(epoch);
  if (epoch == epoch_) return plan_;  // of a checkpoint, too: the memory has changed since
  plan_ = source_->plan({.epoch = epoch,
                         .epochs = length_in_epochs(config_.recipe),
                         .batch = sizes_.batch,
                         .steps = sizes_.steps,
                         .order = order,
                         .remembered = memory_.defined() ? memory_.cpu() : at::Tensor(),
                         .rng = rng(epoch)});
  check_plan(plan_, config_.selection, epoch, sizes_.examples);
  const auto kept = static_cast<int64_t>(plan_.ids.size());
  if (plan_.per_step == 0) plan_.per_step = kept_per_step(kept, sizes_.steps, sizes_.batch);
  if (plan_.per_step < 1 || plan_.per_step * sizes_.steps > kept) {
    throw usage_error("selection = {} keeps {} examples in epoch {}, too few for {} steps of {}",
                      config_.selection, kept, epoch, sizes_.steps, plan_.per_step);
  }
  epoch_ = epoch;
  return plan_;
}

// The draws are a function of seed and step, so that a checkpoint needs none of them.
void SelectedBatches::draw(int64_t epoch) {
  std::vector<float> draws;
  draws.reserve(static_cast<size_t>(sizes_.steps * sizes_.batch));
  for (int64_t step = epoch * sizes_.steps; step < (epoch + 1) * sizes_.steps; ++step) {
    Rng of_step = rng(step);
    of_step.layer = 1;  // beside the draws of epochs
    for (int64_t i = 0; i < sizes_.batch; ++i) {
      const auto words = of_step.block(static_cast<uint32_t>(i / 4));
      draws.push_back(Rng::uniform(words[static_cast<size_t>(i % 4)]));
    }
  }
  uniform_ = at::tensor(draws).view({sizes_.steps, sizes_.batch}).to(device_);
}

int64_t SelectedBatches::period() const { return proxy_ == nullptr ? 1 : proxy_->period(); }

std::optional<double> SelectedBatches::take_proxy_loss() {
  return proxy_ == nullptr ? std::nullopt : proxy_->take_loss();
}

at::Tensor SelectedBatches::scores(const Batch& candidates, Network& network) {
  const at::NoGradGuard no_grad;
  const Autocast autocast(config_.precision, device_.type());
  network.eval();
  const auto logits = network.forward(candidates.x).to(at::kFloat);
  network.train();
  return losses_of(logits, candidates.labels, config_.recipe);
}

Batch SelectedBatches::chosen(const Batch& candidates, int64_t step, Network& network,
                              double rate) {
  if (source_->scored_by() == ScoredBy::kNobody) return candidates;
  const auto choose = [&](const at::Tensor& losses) {
    return source_->choose({.losses = losses,
                            .uniform = uniform_.select(0, step % sizes_.steps),
                            .kept = source_->least_kept(sizes_)});
  };
  const auto positions = proxy_ == nullptr
                             ? choose(scores(candidates, network))
                             : proxy_->chosen(candidates, step, sizes_.steps, rate, choose);
  return {.x = candidates.x.index_select(0, positions).contiguous(at::MemoryFormat::ChannelsLast),
          .labels = candidates.labels.index_select(0, positions),
          .ids = candidates.ids.index_select(0, positions)};
}

at::Tensor SelectedBatches::loss(const at::Tensor& logits, const Batch& batch, bool remember) {
  const auto losses = losses_of(logits, batch.labels, config_.recipe);
  if (remember && memory_.defined()) {
    const at::NoGradGuard no_grad;
    auto seen = losses.detach();
    if (source_->remembers() == Remembered::kNorm) {
      seen = gradient_norms(logits.detach(), batch.labels, config_.recipe);
    } else if (source_->remembers() == Remembered::kMargin) {
      // Weighted, the mean is that of all candidates: a batch has fewer of the low losses.
      seen =
          seen - (batch.weights.defined() ? seen.mul(batch.weights).sum().div(batch.weights.sum())
                                          : seen.mean());
    }
    memory_.index_copy_(0, batch.ids, seen);
  }
  return batch.weights.defined() ? losses.mul(batch.weights).mean() : losses.mean();
}

std::vector<NamedTensor> SelectedBatches::state() const {
  std::vector<NamedTensor> tensors;
  if (memory_.defined()) tensors.emplace_back("memory", memory_);
  if (proxy_ != nullptr) proxy_->add_state(tensors);
  return tensors;
}

void SelectedBatches::save(Checkpoint& checkpoint) const {
  checkpoint.state[kSelection] = {{"source", config_.selection},
                                  {"dataset_sha256", dataset_sha256_},
                                  {"examples", sizes_.examples},
                                  {"epoch", epoch_},
                                  {"per_step", plan_.per_step}};
  checkpoint.add(kIds, at::tensor(plan_.ids, at::TensorOptions().dtype(at::kLong)));
  checkpoint.add(kWeights, at::tensor(plan_.weights, at::TensorOptions().dtype(at::kFloat)));
}

void SelectedBatches::restore(const Checkpoint& checkpoint) {
  const auto& saved = checkpoint.state.at(kSelection);
  if (saved.at("source") != config_.selection) throw other_checkpoint("selection");
  if (saved.at("dataset_sha256") != dataset_sha256_ || saved.at("examples") != sizes_.examples) {
    throw other_checkpoint("data set");
  }
  const auto ids = checkpoint.tensor(kIds).cpu().to(at::kLong).contiguous();
  const auto weights = checkpoint.tensor(kWeights).cpu().to(at::kFloat).contiguous();
  EpochPlan plan{
      .ids = {ids.const_data_ptr<int64_t>(), ids.const_data_ptr<int64_t>() + ids.numel()},
      .weights = {weights.const_data_ptr<float>(),
                  weights.const_data_ptr<float>() + weights.numel()},
      .per_step = saved.at("per_step").get<int64_t>()};
  const auto epoch = saved.at("epoch").get<int64_t>();
  if (epoch >= 0) {
    try {
      check_plan(plan, config_.selection, epoch, sizes_.examples);
    } catch (const Error& error) {
      throw Error(ErrorKind::kData, fmt::format("the checkpoint is damaged: {}", error.what()));
    }
    const auto kept = static_cast<int64_t>(plan.ids.size());
    if (plan.per_step < 1 || plan.per_step > sizes_.batch || plan.per_step * sizes_.steps > kept) {
      throw Error(ErrorKind::kData, "the checkpoint is damaged: its epoch has too few examples");
    }
  }
  epoch_ = epoch;
  plan_ = std::move(plan);
  if (proxy_ != nullptr) proxy_->went_on(epoch >= 0);
}

}  // namespace approx
