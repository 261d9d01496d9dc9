#include "core/train/session.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

#include "base/error.h"
#include "core/methods/method.h"
#include "core/networks/network.h"
#include "core/networks/network_sizes.h"
#include "core/nn/norm.h"
#include "core/nn/operator_choice.h"
#include "core/nn/phases.h"
#include "core/train/bucketed_reduction.h"
#include "core/train/device.h"
#include "core/train/learning_rate.h"
#include "core/train/optimizer.h"
#include "core/train/precision.h"
#include "core/train/scheduled_layers.h"
#include "core/train/step_recorder.h"
#include "core/train/weight_average.h"

namespace approx {
namespace {

template <typename Items>
std::vector<NamedTensor> named(const Items& items) {
  std::vector<NamedTensor> tensors;
  for (const auto& item : items) tensors.emplace_back(item.key(), item.value());
  return tensors;
}

NetworkInput input_of(const LoadedDataset& dataset, const ImageSizes& sizes) {
  if (sizes.height != sizes.width) {
    throw usage_error("{}: networks take square images, these are {}x{}", dataset.name,
                      sizes.height, sizes.width);
  }
  return {dataset.train.channels, sizes.height, dataset.classes};
}

// LibTorch's global generators that a training on `device` may draw from, named.
std::vector<std::pair<std::string, at::Generator>> generators(at::Device device) {
  std::vector<std::pair<std::string, at::Generator>> used = {
      {"generator:cpu", at::globalContext().defaultGenerator(at::kCPU)}};
  if (device.is_cuda()) {
    used.emplace_back("generator:cuda", at::globalContext().defaultGenerator(device));
  }
  return used;
}

// Autocast for the life of a scope, where the precision asks for it.
class Autocast {
 public:
  Autocast(Precision precision, at::DeviceType device) : device_(device) {
    const auto type = operand_type(precision);
    if (type == at::kFloat) return;
    active_ = true;
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, type);
  }
  ~Autocast() {
    if (!active_) return;
    at::autocast::clear_cache();  // the weights change at the end of the step
    at::autocast::set_autocast_enabled(device_, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
  bool active_ = false;
};

}  // namespace

Session::Session(const RunConfig& config, const LoadedDataset& dataset,
                 std::shared_ptr<Collectives> ranks, std::unique_ptr<GradientReduction> reduction)
    : config_(config),
      ranks_(std::move(ranks)),
      device_(open_device(config.device)),
      split_(split_dataset(dataset, config, device_)),
      batches_(split_.train, dataset, config, world()),
      reduction_(std::move(reduction)) {
  check(config);
  set_float_products(device_, config.precision);
  std::tie(mean_, scale_) = pixel_statistics(dataset, device_);
  const auto sizes = image_sizes(config.recipe, outline_of(dataset));
  const auto input = input_of(dataset, sizes);
  network_ = make_network(config.network, input, static_cast<uint64_t>(config.seed));
  choose_operators(*network_, config.operators);
  if (config.norm_statistics == NormScope::kSynchronised) synchronise_norms(*network_, ranks_);
  check_sizes(*network_, input, sizes.all());
  const auto infos = layer_infos(*network_, input);
  network_->to(device_);

  // A timing makes as many steps as it needs, whatever the length of the recipe.
  constexpr int64_t kEndless = int64_t{1} << 40;
  const int64_t scheduled = config.purpose == Purpose::kTiming ? kEndless : total_steps();
  Schedule schedule(config.schedule, infos, config.method, library_methods(), steps_per_epoch(),
                    scheduled, world().size);
  schedule.check_together();
  if (!is_dense(config.method)) schedule.check_acts();
  period_ = schedule.period();
  approximated_share_ = schedule.approximated_share(total_steps());
  if (schedule.watches_accuracy() && split_.holdout.count() == 0) {
    throw usage_error(
        "the schedule waits for a plateau of the held-out accuracy, and split = {} holds nothing "
        "out; use split = holdout",
        name(config.split));
  }
  layers_ = std::make_unique<ScheduledLayers>(network_->layers(), std::move(schedule),
                                              static_cast<uint64_t>(config.seed), world());
  parameters_ = named(network_->named_parameters());
  optimizer_ = make_optimizer(config.recipe, parameters_);
  if (config.recipe.ema > 0) {
    auto tensors = parameters_;
    for (auto& buffer : named(network_->named_buffers())) tensors.push_back(std::move(buffer));
    average_ = std::make_unique<WeightAverage>(tensors, config.recipe.ema);
  }
  if (config.precision == Precision::kFp16) loss_scale_ = std::make_unique<LossScale>(device_);
  loss_sum_ = at::zeros({}, at::TensorOptions().device(device_));
  if (ranks_ != nullptr) step_loss_ = at::zeros_like(loss_sum_);
  const bool by_others = reduction_ != nullptr;
  if (reduction_ == nullptr) reduction_ = make_reduction();
  if (!device_.is_cpu()) {
    learning_rate_ = at::zeros({}, loss_sum_.options().dtype(rate_type(device_)));
    open_graphs(by_others);
  }
  network_->train();
}

std::unique_ptr<GradientReduction> Session::make_reduction() const {
  if (ranks_ == nullptr) return std::make_unique<NoReduction>();
  auto buffers = named(network_->named_buffers());
  buffers.emplace_back("loss", step_loss_);
  std::vector<ReducedParameter> parameters;
  for (const auto& [name, tensor] : parameters_) {
    constexpr std::string_view kWeight = ".weight";
    const bool is_weight = name.ends_with(kWeight);
    parameters.push_back({.name = name,
                          .tensor = tensor,
                          .part = is_weight ? layers_->part(std::string_view(name).substr(
                                                  0, name.size() - kWeight.size()))
                                            : nullptr});
  }
  return std::make_unique<BucketedReduction>(ranks_, std::move(parameters), buffers);
}

void Session::open_graphs(bool reduced_by_others) {
  if (config_.graphs == GraphUse::kOff) return;
  try {
    if (reduced_by_others || (ranks_ != nullptr && !ranks_->is_of_device())) {
      throw Error(ErrorKind::kDevice, "gradients are averaged by the host");
    }
    capture_steps(open_step_recorder(device_));
  } catch (const Error& error) {
    if (config_.graphs == GraphUse::kOn) {
      throw Error(error.kind(), fmt::format("graphs = on: {}", error.what()));
    }
    no_graphs_ = error.what();
  }
}

void Session::capture_steps(std::unique_ptr<StepRecorder> recorder) {
  auto counts = layers_->host_counts();
  const auto of_reduction = reduction_->host_counts();
  counts.whole.insert(counts.whole.end(), of_reduction.whole.begin(), of_reduction.whole.end());
  counts.real.insert(counts.real.end(), of_reduction.real.begin(), of_reduction.real.end());
  StepGraphs::AllHave all_have;
  if (ranks_ != nullptr) {
    all_have = [ranks = ranks_](bool own) { return !ranks->any(!own); };
  }
  graphs_ =
      std::make_unique<StepGraphs>(std::move(recorder), device_, std::move(counts),
                                   /*must=*/config_.graphs == GraphUse::kOn, std::move(all_have));
}

std::optional<GraphReport> Session::graph_report() const {
  if (graphs_ != nullptr) return graphs_->report();
  if (no_graphs_.empty()) return std::nullopt;
  return GraphReport{.steps = {{no_graphs_, own_steps_}}};
}

Session::~Session() = default;

at::Tensor Session::loss_of(const Batch& batch) {
  const Autocast autocast(config_.precision, device_.type());
  const auto logits = network_->forward(batch.x);
  return at::cross_entropy_loss(logits.to(at::kFloat), batch.labels, {}, at::Reduction::Mean,
                                /*ignore_index=*/-100, config_.recipe.label_smoothing);
}

void Session::begin_probing() {
  for (auto* layer : network_->layers()) layer->probing = true;
}

Session::LayerOperands Session::end_probing() {
  LayerOperands recorded;
  for (auto* layer : network_->layers()) {
    auto& [info, operands] = recorded.emplace_back(layer->info, layer->probed());
    operands.w = operands.w.clone();  // the update is about to change it in place
    layer->probing = false;
    layer->probe = {};
  }
  return recorded;
}

Session::LayerOperands Session::record() {
  // The next step fills its slots anew, but for what the network says of a layer.
  for (auto* layer : network_->layers()) {
    layer->slot = {};
    layer->slot.orders.norm_follows = layer->info.norm_follows;
  }
  // A forward pass in training mode moves running statistics and draws for dropout.
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers;
  for (const auto& buffer : network_->buffers()) buffers.emplace_back(buffer, buffer.clone());
  std::vector<std::pair<at::Generator, at::Tensor>> draws;
  for (const auto& [name, generator] : generators(device_)) {
    draws.emplace_back(generator, generator.get_state());
  }
  begin_probing();
  loss_of(batches_.at(step_)).backward();
  auto recorded = end_probing();
  optimizer_->zero_grad();
  for (const auto& [buffer, before] : buffers) buffer.copy_(before);
  for (auto& [generator, before] : draws) generator.set_state(before);
  return recorded;
}

Batch Session::next_batch() {
  const PhaseScope phase(Phase::kData);
  return batches_.at(step_);
}

void Session::step() {
  const auto* step_at = graphs_ == nullptr ? nullptr : graphs_->step_at();
  layers_->begin_step(step_, loss_scale_ == nullptr ? at::Tensor() : loss_scale_->scale(), step_at);
  const double rate = learning_rate(config_.recipe, step_, steps_per_epoch());
  const auto batch = next_batch();
  const bool keeps_operands = std::exchange(keeps_operands_, false);
  if (graphs_ != nullptr) {
    captured_step(batch, rate, keeps_operands);
  } else if (learning_rate_.defined()) {
    compute(batch, learning_rate_.fill_(rate), keeps_operands);
  } else {
    compute(batch, rate, keeps_operands);
  }
  if (average_ != nullptr) average_->update(step_);
  if (ranks_ != nullptr) ranks_->watch();
  ++loss_steps_;
  ++own_steps_;
  ++step_;
}

void Session::captured_step(const Batch& batch, double rate, bool keeps_operands) {
  std::string why_not = layers_->waits_for();
  if (config_.graphs == GraphUse::kOn && !why_not.empty()) {
    throw usage_error("graphs = on: a step cannot be captured: {}; use graphs = auto", why_not);
  }
  if (keeps_operands) why_not = "its operands are recorded";
  if (counts_gradients_) why_not = "its gradients are counted";
  graphs_->begin_step(step_, rate);
  const auto placed = graphs_->placed(batch);
  graphs_->run({layers_->row(), placed.x.sizes().vec()}, why_not, [this, placed, keeps_operands] {
    compute(placed, graphs_->learning_rate(), keeps_operands);
  });
}

void Session::compute(const Batch& batch, const StepRate& learning_rate, bool keeps_operands) {
  optimizer_->zero_grad();
  reduction_->begin_step();
  if (keeps_operands) begin_probing();
  const at::Tensor loss = loss_of(batch);
  if (step_loss_.defined()) step_loss_.copy_(loss.detach());
  (loss_scale_ == nullptr ? loss : loss_scale_->scaled(loss)).backward();
  if (keeps_operands) operands_ = end_probing();
  {
    const PhaseScope phase(Phase::kOptimizer);
    reduction_->reduce(parameters_);
    optimizer_->step(learning_rate, loss_scale_.get());
  }
  loss_sum_.add_(step_loss_.defined() ? step_loss_ : loss.detach());
}

std::optional<double> Session::step_counting_gradients() {
  layers_->count_gradients(true);
  counts_gradients_ = true;
  step();
  counts_gradients_ = false;
  layers_->count_gradients(false);
  return layers_->take_gradient_density();
}

at::Tensor Session::test_logits(const at::Tensor& x) {
  auto logits = network_->forward(x).to(at::kFloat);
  if (!config_.recipe.test_flip) return logits;
  const auto mirrored = x.flip(3).contiguous(at::MemoryFormat::ChannelsLast);
  return (logits + network_->forward(mirrored).to(at::kFloat)) / 2;
}

// Of exact forward passes, as an evaluation has them: a method may have trained with others. Ranks
// all take the same images, since shares of them could differ in number.
void Session::renew_statistics() {
  if (std::exchange(renewed_at_, step_) == step_) return;
  RenewedStatistics renewed(*network_);
  EvalBatches batches(split_.train, mean_, scale_);
  for (int64_t i = 0; i < batches.count() && renewed.seen() < config_.recipe.norm_examples; ++i) {
    const auto x = batches.at(i).x;
    renewed.expect(x.size(0));
    network_->forward(x);
  }
}

Session::Score Session::evaluate(const DeviceImages& images) {
  const at::NoGradGuard no_grad;
  network_->eval();
  if (average_ != nullptr) average_->swap();
  const Autocast autocast(config_.precision, device_.type());
  if (config_.recipe.norm_examples > 0) renew_statistics();
  auto correct = at::zeros({}, at::TensorOptions().dtype(at::kLong).device(device_));
  auto loss = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device_));
  EvalBatches batches(images, mean_, scale_, world());
  for (int64_t i = 0; i < batches.count(); ++i) {
    const auto [x, labels] = batches.at(i);
    const auto logits = test_logits(x);
    correct.add_(logits.argmax(1).eq(labels).sum());
    loss.add_(at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum));
  }
  if (average_ != nullptr) average_->swap();
  network_->train();
  // The host is about to go by them, and waits for its own device alone.
  correct = correct.cpu();
  loss = loss.cpu();
  if (ranks_ != nullptr) {
    ranks_->sum(correct);
    ranks_->sum(loss);
  }
  const auto count = static_cast<double>(images.count());
  return {static_cast<double>(correct.item<int64_t>()) / count, loss.item<double>() / count};
}

bool Session::observe(double accuracy) { return layers_->observe(accuracy, step_); }

double Session::take_mean_loss() {
  const double mean =
      loss_sum_.item<double>() / static_cast<double>(std::max<int64_t>(1, loss_steps_));
  loss_sum_.zero_();
  loss_steps_ = 0;
  reduction_->check();
  return mean;
}

std::string Session::first_bad_layer() {
  for (const auto& item : network_->named_parameters()) {
    if (!item.value().isfinite().all().item<bool>()) return item.key();
  }
  return "";
}

std::vector<NamedTensor> Session::state() const {
  std::vector<NamedTensor> tensors;
  const auto add = [&](const char* prefix, const std::vector<NamedTensor>& list) {
    for (const auto& [name, tensor] : list) tensors.emplace_back(prefix + name, tensor);
  };
  add("parameter:", parameters_);
  add("buffer:", named(network_->named_buffers()));
  add("optimizer:", optimizer_->state());
  if (average_ != nullptr) add("average:", average_->state());
  add("", {{"loss_sum", loss_sum_}});
  if (loss_scale_ != nullptr) {
    add("loss_scale:",
        {{"scale", loss_scale_->scale()}, {"steps", loss_scale_->steps_since_growth()}});
  }
  return tensors;
}

Checkpoint Session::save() const {
  Checkpoint checkpoint;
  checkpoint.state["step"] = step_;
  checkpoint.state["loss_steps"] = loss_steps_;
  for (const auto& [name, tensor] : state()) checkpoint.add(name, tensor);
  for (const auto& [name, generator] : generators(device_)) {
    checkpoint.add(name, generator.get_state());
  }
  layers_->save(checkpoint, ranks_.get());
  reduction_->save(checkpoint);
  return checkpoint;
}

void Session::restore(const Checkpoint& checkpoint) {
  try {
    for (const auto& [name, tensor] : state()) checkpoint.restore(name, tensor);
    layers_->restore(checkpoint, device_);
    reduction_->restore(checkpoint);
    if (graphs_ != nullptr) graphs_->forget();
    for (auto [name, generator] : generators(device_)) {
      generator.set_state(checkpoint.tensor(name));
    }
    checkpoint.state.at("step").get_to(step_);
    checkpoint.state.at("loss_steps").get_to(loss_steps_);
    renewed_at_ = -1;
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::kData, fmt::format("the checkpoint does not fit: {}", error.what()));
  }
}

void Session::synchronize() const { synchronize_device(device_); }

std::vector<Json> Session::layer_events() const {
  auto events = layers_->events();
  for (auto& event : reduction_->events()) events.push_back(std::move(event));
  return events;
}

std::vector<std::pair<std::string, double>> Session::take_densities() {
  std::vector<std::pair<std::string, double>> named;
  for (const auto& [layer, product, value] : layers_->take_densities()) {
    named.emplace_back(fmt::format("{}:{}", layer, name(product)), value);
  }
  return named;
}

int64_t Session::parameters() const {
  int64_t count = 0;
  for (const auto& parameter : network_->parameters()) count += parameter.numel();
  return count;
}

int64_t Session::macs() const {
  int64_t macs = 0;
  for (const auto* layer : network_->layers()) macs += layer->info.macs;
  return macs;
}

}  // namespace approx
