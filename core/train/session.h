// One network in training: a step takes a batch and ends with an update. Accuracy runs have one
// session, timing runs an exact and an approximated one side by side.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/run_config.h"
#include "core/methods/variance_controlled.h"
#include "core/parallel/collectives.h"
#include "core/train/batches.h"
#include "core/train/checkpoint.h"
#include "core/train/gradient_reduction.h"
#include "core/train/step_graphs.h"

namespace approx {

class FrozenParameters;
class Lookahead;
class LossScale;
class Network;
class ScheduledLayers;
class SelectedBatches;
class WeightAverage;

// Looks at the layers while a step is computed. Such a step is not captured as a graph.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void before_forward(Network& network) = 0;
  virtual void after_backward(Network& network) = 0;  // before the update
};

class Session {
 public:
  // `dataset` must outlive the session. `ranks`: the processes that train the network together; all
  // of them call the functions of this class in one order. Null: this process alone. `reduction`
  // gets the gradients, in place of the default, which averages them over the ranks. Throws
  // Error(kUsage) if configuration, network and data do not fit, and Error(kDevice) for a missing
  // device.
  Session(const RunConfig& config, const LoadedDataset& dataset,
          std::shared_ptr<Collectives> ranks = nullptr,
          std::unique_ptr<GradientReduction> reduction = nullptr);
  ~Session();

  // Does one training step. The first one, or next_loss() before it, sets the weight of a whitening
  // convolution. After that a step never waits for the device, and its shapes do not change.
  // Exceptions are methods that read the size of their sample: crs and bernoulli_crs of the drawn
  // size, and a `share`. On a GPU a step is the replay of a captured one
  // (core/train/step_graphs.h), if the configuration and the methods allow it. `observer`, if not
  // null, sees the layers.
  void step(StepObserver* observer = nullptr);

  // The wishes of all ranks (GradientReduction::agree).
  Wishes agree(Wishes own) { return reduction_->agree(own); }

  // Does one training step that also counts the gradients of the convolutions' outputs, as their
  // weight gradients read them. Returns the share of entries that are not zero; nothing for a
  // network without convolutions. Waits for the device.
  std::optional<double> step_counting_gradients(StepObserver* observer = nullptr);

  // Lets `recorder` capture steps from now on, to be replayed. On a GPU the session does so by
  // itself.
  void capture_steps(std::unique_ptr<StepRecorder> recorder);

  // How this object's steps were done so far. Nothing if the device has no graphs, or the
  // configuration wants none.
  std::optional<GraphReport> graph_report() const;

  // The loss of the next batch, by a forward pass in which layers compute as in the last step. It
  // is not a step of the session. If a source chooses in steps, it is of all candidates.
  at::Tensor next_loss();

  // Tells the schedule a held-out accuracy. Returns whether it completes a plateau that the
  // schedule waits for.
  bool observe(double accuracy);

  // The mean training loss of all ranks over the steps since the last call. Waits for the device.
  double take_mean_loss();

  // Nanoseconds for which steps have waited for photographs since the last call. Nothing for images
  // of one size.
  std::optional<int64_t> take_data_wait_ns() { return batches_.take_wait_ns(); }

  // The share of its candidates that the last step trained on; nothing if no source chooses.
  std::optional<double> kept_share() const;

  // The mean loss of the small network that scores candidates, over all candidates since the last
  // call; nothing without one. Waits for the device.
  std::optional<double> take_proxy_loss();

  // Everything that steps change, so that a restored session continues bit for bit. This is the
  // weights, the state of the update rule, the averages, the layers' counts, the methods' memories,
  // and LibTorch's generators. Order and augmentation of the images are functions of the step. The
  // checkpoint is equal on all ranks, and any number of ranks can resume from it.
  Checkpoint save() const;

  // Continues from `checkpoint`, which a session of an equal configuration saved. Throws
  // Error(kData) if it does not fit; the session can then not be used any more.
  void restore(const Checkpoint& checkpoint);

  // Returns once all work given to the device is done.
  void synchronize() const;

  int64_t steps_done() const { return step_; }
  // Images of a step; of those that a source leaves out, too.
  int64_t batch_size() const { return batches_.batch_size(); }
  int64_t steps_per_epoch() const { return batches_.per_epoch(); }
  int64_t total_steps() const { return approx::total_steps(config_.recipe, steps_per_epoch()); }
  int64_t period() const { return period_; }
  // The learning rate of a step: the recipe's, times the factor of the schedule.
  double rate_at(int64_t step) const;
  double approximated_share() const { return approximated_share_; }
  const Split& split() const { return split_; }
  Network& network() const { return *network_; }
  WeightAverage* average() const { return average_.get(); }  // null: none
  Collectives* ranks() const { return ranks_.get(); }        // null: this process alone
  std::vector<Json> layer_events() const;  // with several ranks: for this one's share of the images

  // Where the schedule has rates by sensitivity and they are measured: the share of the steps at
  // which each block is stopped, by block. Else none.
  std::vector<std::pair<std::string, double>> block_rates() const;

  // Where a method has controlled ratios and they are measured: its ratios, by layer. Else none.
  std::map<std::string, ExampleRatios> controlled_ratios() const;

  // The work of measuring controlled ratios so far, and the work that the steps have saved. Both
  // are multiply-accumulates as shares of those of exact steps. Nothing if no method has such
  // ratios.
  std::optional<std::pair<double, double>> control_cost() const;

  // "<layer>:<product>", and the share of entries that were kept of its pruned gradients since the
  // last call. Waits for the device.
  std::vector<std::pair<std::string, double>> take_densities();

 private:
  // Whether the next step is after the epochs in which the first convolution's bias trains.
  bool holds_first_bias() const;
  // Throws Error(kUsage) if ratios are to be controlled and cannot be.
  void check_control() const;
  void open_lookahead(const std::vector<NamedTensor>& tensors);
  std::unique_ptr<GradientReduction> make_reduction() const;
  void open_graphs(bool reduced_by_others);
  Batch next_batch(double rate);
  void captured_step(const Batch& batch, double learning_rate, StepObserver* observer);
  // The part of a step that a graph may contain: forward and backward pass, update, sum of the
  // losses.
  void compute(const Batch& batch, const StepRate& learning_rate, StepObserver* observer);
  // `remember`: the examples, if a source chooses them.
  at::Tensor loss_of(const Batch& batch, bool remember);
  at::Tensor scaled(const at::Tensor& loss) const;  // by the loss scale, if there is one
  at::Tensor loss_scale() const;                    // undefined: none
  // Tells the schedule how much each block matters to the gradient of the next batch, beside the
  // training: it leaves no trace but that.
  void measure_blocks();
  // Lets controlled ratios follow from the variance of the gradient, beside the training: it leaves
  // no trace but that.
  void measure_variance();
  // Sets the weight of a whitening convolution, once in a training, and not if a training is
  // resumed.
  void whiten_first();
  // The tensors that steps change in place, with names.
  std::vector<NamedTensor> state() const;

  World world() const { return ranks_ == nullptr ? World() : ranks_->world(); }

  RunConfig config_;
  const LoadedDataset& dataset_;
  std::shared_ptr<Collectives> ranks_;  // null: none
  at::Device device_;
  Split split_;
  Batches batches_;
  std::unique_ptr<SelectedBatches> selected_;  // null: every step trains on all of its candidates
  std::shared_ptr<Network> network_;
  std::unique_ptr<ScheduledLayers> layers_;
  std::vector<NamedTensor> parameters_;  // parameters that train
  std::unique_ptr<FrozenParameters> frozen_;
  std::unique_ptr<GradientReduction> reduction_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;  // null: none
  std::unique_ptr<Lookahead> lookahead_;    // null: none
  std::unique_ptr<LossScale> loss_scale_;   // null: none
  std::unique_ptr<StepGraphs> graphs_;      // null: none
  std::string no_graphs_;                   // why there are none, if there might be
  at::Tensor learning_rate_;                // on a device other than the host; else undefined
  at::Tensor loss_sum_;                     // on the device, read by take_mean_loss
  at::Tensor step_loss_;                    // several ranks: the mean of theirs
  at::Tensor first_bias_;                   // if the recipe ends its training; else undefined
  int64_t loss_steps_ = 0;
  int64_t step_ = 0;
  int64_t period_ = 1;
  double approximated_share_ = 0;
  int64_t own_steps_ = 0;   // done by this object
  int64_t trained_on_ = 0;  // examples of the last step
  bool counts_gradients_ = false;
  bool is_whitened_ = false;
};

}  // namespace approx
