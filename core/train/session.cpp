#include "core/train/session.h"

#include <ATen/ATen.h>

#include <numeric>

#include "base/error.h"
#include "core/methods/method.h"
#include "core/networks/network.h"
#include "core/networks/network_sizes.h"
#include "core/nn/norm.h"
#include "core/nn/operator_choice.h"
#include "core/nn/phases.h"
#include "core/nn/weight_start.h"
#include "core/train/block_sensitivity.h"
#include "core/train/bucketed_reduction.h"
#include "core/train/device.h"
#include "core/train/frozen_parameters.h"
#include "core/train/generators.h"
#include "core/train/learning_rate.h"
#include "core/train/lookahead.h"
#include "core/train/optimizer.h"
#include "core/train/parameter_roles.h"
#include "core/train/precision.h"
#include "core/train/scheduled_layers.h"
#include "core/train/selected_batches.h"
#include "core/train/step_recorder.h"
#include "core/train/weight_average.h"
#include "core/train/whitening.h"

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

}  // namespace

Session::Session(const RunConfig& config, const LoadedDataset& dataset,
                 std::shared_ptr<Collectives> ranks, std::unique_ptr<GradientReduction> reduction)
    : config_(config),
      dataset_(dataset),
      ranks_(std::move(ranks)),
      device_(open_device(config.device)),
      split_(split_dataset(dataset, config, device_)),
      batches_(split_.train, dataset, config, world()),
      reduction_(std::move(reduction)) {
  check(config);
  set_float_products(device_, config.precision);
  const auto sizes = image_sizes(config.recipe, outline_of(dataset));
  const auto input = input_of(dataset, sizes);
  const WeightStartScope start(config.recipe.init);
  if (!config.selection.empty()) {
    if (sizes.start != 0) {
      throw usage_error(
          "recipe.start_size = {}: under selection = {} images keep their size; leave one of them "
          "out",
          sizes.start, config.selection);
    }
    // Before the network: making a small one draws from the generator that the network is made by.
    selected_ = std::make_unique<SelectedBatches>(config, dataset, split_.train, input,
                                                  batch_size(), steps_per_epoch());
    batches_.follow(
        [this](int64_t epoch, const auto& order) { return selected_->plan(epoch, order); },
        selected_->weighs());
  }
  network_ = make_network(config.network, input, static_cast<uint64_t>(config.seed));
  choose_operators(*network_, config.operators);
  if (config.norm_statistics == NormScope::kSynchronised) synchronise_norms(*network_, ranks_);
  check_sizes(*network_, input, sizes.all());
  check_whitening(*network_, split_.train);
  const auto infos = layer_infos(*network_, input);
  if (const int64_t images = config.recipe.ghost_batch;
      images > 0 && !set_ghost_batch(*network_, images)) {
    throw usage_error("recipe.ghost_batch = {}: {} has no batch norm; set it to 0", images,
                      config.network);
  }
  network_->to(device_);

  // A timing makes as many steps as it needs, whatever the length of the recipe.
  constexpr int64_t kEndless = int64_t{1} << 40;
  const int64_t scheduled = config.purpose == Purpose::kTiming ? kEndless : total_steps();
  Schedule schedule(config.schedule, infos, config.method, library_methods(), steps_per_epoch(),
                    scheduled, world().size, static_cast<uint64_t>(config.seed));
  schedule.check_together();
  if (!is_dense(config.method)) schedule.check_acts();
  period_ = std::lcm(schedule.period(), selected_ == nullptr ? int64_t{1} : selected_->period());
  approximated_share_ = schedule.approximated_share(total_steps());
  if (schedule.watches_accuracy() && split_.holdout.count() == 0) {
    throw usage_error(
        "the schedule waits for a plateau of the held-out accuracy, and split = {} holds nothing "
        "out; use split = holdout",
        name(config.split));
  }
  layers_ = std::make_unique<ScheduledLayers>(network_->layers(), std::move(schedule),
                                              static_cast<uint64_t>(config.seed), world(),
                                              network_->branches());
  check_control();
  parameters_ = named(network_->named_parameters());
  std::erase_if(parameters_, [](const auto& item) { return !item.second.requires_grad(); });
  std::vector<std::string> layer_names;
  for (const auto& info : infos) layer_names.push_back(info.name);
  frozen_ = std::make_unique<FrozenParameters>(parameters_, layer_names);
  optimizer_ = make_optimizer(config.recipe, parameters_, norm_biases(*network_));
  if (config.recipe.first_bias_epochs > 0) {
    first_bias_ = first_convolution_bias(*network_);
    if (!first_bias_.defined()) {
      throw usage_error(
          "recipe.first_bias_epochs = {}: the first convolution of {} has no bias; set it to 0",
          config.recipe.first_bias_epochs, config.network);
    }
  }
  auto averaged = parameters_;
  for (auto& buffer : named(network_->named_buffers())) averaged.push_back(std::move(buffer));
  if (config.recipe.ema > 0) {
    average_ = std::make_unique<WeightAverage>(averaged, config.recipe.ema);
  }
  if (config.recipe.lookahead_every > 0) open_lookahead(averaged);
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

void Session::check_control() const {
  const auto every = layers_->measured_every();
  if (!every) return;
  const auto refuse = [this](const std::string& why) {
    throw usage_error("{}: {}, or use tolerance=0", config_.method, why);
  };
  if (config_.purpose == Purpose::kTiming) {
    refuse("a timing run is too short for ratios that follow from a training. Time fixed ones");
  }
  if (selected_ != nullptr) {
    refuse(fmt::format("ratios are measured on whole batches. Leave selection = {} out",
                       config_.selection));
  }
  if (steps_per_epoch() < kMeasuredBatches) {
    refuse(
        fmt::format("ratios are measured on {} batches, and an epoch has one. Use smaller batches",
                    kMeasuredBatches));
  }
  if (!layers_->measures_variance_within(total_steps())) {
    refuse(
        fmt::format("with every = {} nothing is measured in {} steps, as no rule gives this method "
                    "to a layer from step {} on. Use a smaller one",
                    *every, total_steps(), *every));
  }
}

void Session::open_lookahead(const std::vector<NamedTensor>& tensors) {
  const auto& recipe = config_.recipe;
  if (recipe.lookahead_every > total_steps()) {
    throw usage_error(
        "recipe.lookahead_every = {}: the training has {} steps, so its slow weights would stay as "
        "they began; use fewer",
        recipe.lookahead_every, total_steps());
  }
  lookahead_ = std::make_unique<Lookahead>(tensors, recipe.lookahead_every, recipe.lookahead_decay);
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

at::Tensor Session::loss_of(const Batch& batch, bool remember) {
  const Autocast autocast(config_.precision, device_.type());
  const auto logits = network_->forward(batch.x);
  if (selected_ != nullptr) return selected_->loss(logits.to(at::kFloat), batch, remember);
  return at::cross_entropy_loss(logits.to(at::kFloat), batch.labels, {}, at::Reduction::Mean,
                                /*ignore_index=*/-100, config_.recipe.label_smoothing);
}

at::Tensor Session::scaled(const at::Tensor& loss) const {
  return loss_scale_ == nullptr ? loss : loss_scale_->scaled(loss);
}

at::Tensor Session::loss_scale() const {
  return loss_scale_ == nullptr ? at::Tensor() : loss_scale_->scale();
}

Batch Session::next_batch(double rate) {
  const auto batch = [this] {
    const PhaseScope phase(Phase::kData);
    return batches_.at(step_);
  }();
  return selected_ == nullptr ? batch : selected_->chosen(batch, step_, *network_, rate);
}

at::Tensor Session::next_loss() {
  whiten_first();
  return loss_of(batches_.at(step_), /*remember=*/false);
}

void Session::whiten_first() {
  if (is_whitened_) return;
  whiten(*network_, split_.train, dataset_, ranks_.get());
  is_whitened_ = true;
}

bool Session::holds_first_bias() const {
  return first_bias_.defined() && step_ / steps_per_epoch() >= config_.recipe.first_bias_epochs;
}

double Session::rate_at(int64_t step) const {
  return layers_->rate_at(step) * learning_rate(config_.recipe, step, steps_per_epoch());
}

void Session::measure_blocks() {
  // Later steps have other patterns, and captured ones expect the generators where they left them.
  if (graphs_ != nullptr) graphs_->forget();
  const auto batch = batches_.at(step_);
  layers_->begin_exact();
  layers_->set_sensitivities(
      block_sensitivities(*network_, layers_->measured_branches(), device_,
                          [&] { return scaled(loss_of(batch, /*remember=*/false)); }));
}

void Session::measure_variance() {
  if (graphs_ != nullptr) graphs_->forget();
  // The batch of this step, and its neighbour in the epoch.
  const bool is_last = (step_ + 1) % steps_per_epoch() == 0;
  const std::vector<Batch> batches = {batches_.at(is_last ? step_ - 1 : step_ + 1),
                                      batches_.at(step_)};
  const auto measured = measured_variance(
      *network_, layers_->controlled_layers(step_), device_, [&](const MeasuredPass& pass) {
        layers_->begin_measured(step_, pass, loss_scale());
        return scaled(loss_of(batches.at(static_cast<size_t>(pass.batch)), /*remember=*/false));
      });
  layers_->set_variance(step_, measured, batch_size());
}

void Session::step(StepObserver* observer) {
  whiten_first();
  // Before anything is measured: what does not train in this step has no part in that.
  layers_->begin_frozen(step_);
  frozen_->freeze(layers_->frozen());
  // Without a gradient nothing updates it, and none is computed down to it: behind a frozen first
  // convolution the second needs no data gradient.
  if (first_bias_.defined()) {
    first_bias_.set_requires_grad(!holds_first_bias() && layers_->frozen().leading == 0);
  }
  if (layers_->wants_sensitivities(step_)) measure_blocks();
  if (layers_->wants_variance(step_)) measure_variance();
  const auto* step_at = graphs_ == nullptr ? nullptr : graphs_->step_at();
  layers_->begin_step(step_, loss_scale(), step_at);
  const double rate = rate_at(step_);
  const auto batch = next_batch(rate);
  trained_on_ = batch.labels.size(0);
  if (graphs_ != nullptr) {
    captured_step(batch, rate, observer);
  } else if (learning_rate_.defined()) {
    compute(batch, learning_rate_.fill_(rate), observer);
  } else {
    compute(batch, rate, observer);
  }
  if (average_ != nullptr) average_->update(step_);
  if (lookahead_ != nullptr) lookahead_->update(step_ + 1, total_steps());
  if (ranks_ != nullptr) ranks_->watch();
  ++loss_steps_;
  ++own_steps_;
  ++step_;
}

void Session::captured_step(const Batch& batch, double rate, StepObserver* observer) {
  std::string why_not = layers_->waits_for();
  if (config_.graphs == GraphUse::kOn && !why_not.empty()) {
    throw usage_error("graphs = on: a step cannot be captured: {}; use graphs = auto", why_not);
  }
  if (observer != nullptr) why_not = "its operands are recorded";
  if (counts_gradients_) why_not = "its gradients are counted";
  graphs_->begin_step(step_, rate);
  const auto placed = graphs_->placed(batch);
  auto decisions = layers_->row();
  if (first_bias_.defined()) decisions.push_back(holds_first_bias());
  graphs_->run({std::move(decisions), placed.x.sizes().vec()}, why_not,
               [this, placed, observer] { compute(placed, graphs_->learning_rate(), observer); });
}

void Session::compute(const Batch& batch, const StepRate& learning_rate, StepObserver* observer) {
  optimizer_->zero_grad();
  reduction_->begin_step();
  if (observer != nullptr) observer->before_forward(*network_);
  const at::Tensor loss = loss_of(batch, /*remember=*/true);
  if (step_loss_.defined()) step_loss_.copy_(loss.detach());
  scaled(loss).backward();
  if (observer != nullptr) observer->after_backward(*network_);
  {
    const PhaseScope phase(Phase::kOptimizer);
    reduction_->reduce(parameters_);
    optimizer_->step(learning_rate, loss_scale_.get());
  }
  loss_sum_.add_(step_loss_.defined() ? step_loss_ : loss.detach());
}

std::optional<double> Session::step_counting_gradients(StepObserver* observer) {
  layers_->count_gradients(true);
  counts_gradients_ = true;
  step(observer);
  counts_gradients_ = false;
  layers_->count_gradients(false);
  return layers_->take_gradient_density();
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

std::optional<double> Session::take_proxy_loss() {
  return selected_ == nullptr ? std::nullopt : selected_->take_proxy_loss();
}

std::optional<double> Session::kept_share() const {
  if (selected_ == nullptr) return std::nullopt;
  return static_cast<double>(trained_on_) / static_cast<double>(batch_size());
}

std::vector<NamedTensor> Session::state() const {
  std::vector<NamedTensor> tensors;
  const auto add = [&](const char* prefix, const std::vector<NamedTensor>& list) {
    for (const auto& [name, tensor] : list) tensors.emplace_back(prefix + name, tensor);
  };
  add("parameter:", named(network_->named_parameters()));
  add("buffer:", named(network_->named_buffers()));
  add("optimizer:", optimizer_->state());
  if (average_ != nullptr) add("average:", average_->state());
  if (lookahead_ != nullptr) add("lookahead:", lookahead_->state());
  add("", {{"loss_sum", loss_sum_}});
  if (selected_ != nullptr) add("selection:", selected_->state());
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
  if (selected_ != nullptr) selected_->save(checkpoint);
  return checkpoint;
}

void Session::restore(const Checkpoint& checkpoint) {
  try {
    if (selected_ != nullptr) {
      selected_->restore(checkpoint);
      batches_.restart();
    }
    for (const auto& [name, tensor] : state()) checkpoint.restore(name, tensor);
    layers_->restore(checkpoint, device_);
    reduction_->restore(checkpoint);
    if (graphs_ != nullptr) graphs_->forget();
    for (auto [name, generator] : generators(device_)) {
      generator.set_state(checkpoint.tensor(name));
    }
    checkpoint.state.at("step").get_to(step_);
    is_whitened_ = step_ > 0;
    checkpoint.state.at("loss_steps").get_to(loss_steps_);
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

std::vector<std::pair<std::string, double>> Session::block_rates() const {
  return layers_->block_rates();
}

std::map<std::string, ExampleRatios> Session::controlled_ratios() const {
  return layers_->controlled_ratios();
}

std::optional<std::pair<double, double>> Session::control_cost() const {
  const auto cost = layers_->control_cost();
  if (!cost) return std::nullopt;
  return std::pair(cost->passes, cost->saved);
}

std::vector<std::pair<std::string, double>> Session::take_densities() {
  std::vector<std::pair<std::string, double>> named;
  for (const auto& [layer, product, value] : layers_->take_densities()) {
    named.emplace_back(fmt::format("{}:{}", layer, name(product)), value);
  }
  return named;
}

}  // namespace approx
