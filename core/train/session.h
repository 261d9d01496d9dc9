// One network in training: a step is a batch in, an update out. Accuracy runs have one session,
// timing runs an exact and an approximated one side by side.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/run_config.h"
#include "core/parallel/collectives.h"
#include "core/train/batches.h"
#include "core/train/checkpoint.h"
#include "core/train/gradient_reduction.h"
#include "core/train/step_graphs.h"

namespace approx {

class Lookahead;
class LossScale;
class Network;
class ScheduledLayers;
class WeightAverage;

// Who looks at the layers while a step is computed. Such a step is not captured as a graph.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void before_forward(Network& network) = 0;
  virtual void after_backward(Network& network) = 0;  // and before the update
};

class Session {
 public:
  // `dataset` must outlive the session. Throws Error(kUsage) where configuration, network and data
  // do not fit, Error(kDevice) for a device that is not there. `ranks`: the processes that train
  // the network together, all of which call what this class has in one order; null: this one alone.
  // `reduction` is told of gradients in place of what averages them over the ranks.
  Session(const RunConfig& config, const LoadedDataset& dataset,
          std::shared_ptr<Collectives> ranks = nullptr,
          std::unique_ptr<GradientReduction> reduction = nullptr);
  ~Session();

  // One training step. The first, or next_loss() before it, sets the weight of a whitening
  // convolution; then nothing of a step waits for the device and its shapes are always the same,
  // but under methods that look how large their sample is (crs and bernoulli_crs of the size drawn,
  // a `share`). On a GPU it is the replay of a captured one (core/train/step_graphs.h), as far as
  // the configuration and the methods allow. `observer`, where it is not null, sees the layers.
  void step(StepObserver* observer = nullptr);

  // What all ranks wish to happen (GradientReduction::agree).
  Wishes agree(Wishes own) { return reduction_->agree(own); }

  // The same step, which also counts the gradients of the convolutions' outputs as their weight
  // gradients take them: the share of all entries that are not zero; nothing for a network without
  // convolutions. Waits for the device.
  std::optional<double> step_counting_gradients(StepObserver* observer = nullptr);

  // Steps from now on are captured by `recorder` and replayed; on a GPU nobody need ask for it.
  void capture_steps(std::unique_ptr<StepRecorder> recorder);

  // How this object's steps were done so far; nothing where the device has no graphs, or the
  // configuration wants none.
  std::optional<GraphReport> graph_report() const;

  // The loss of the next batch, by a forward pass of layers as they were told to compute last. No
  // step of the session.
  at::Tensor next_loss();

  // Tells the schedule of a held-out accuracy; whether a plateau that it waits for is reached.
  bool observe(double accuracy);

  // The mean training loss of all ranks over the steps since the last call; waits for the device.
  double take_mean_loss();

  // Nanoseconds that steps have waited for photographs since the last call; nothing for images that
  // are always there.
  std::optional<int64_t> take_data_wait_ns() { return batches_.take_wait_ns(); }

  // Everything that steps change, so that a session restored from it goes on bit for bit: weights,
  // update rule, averages, what layers counted and methods remember, LibTorch's generators. Order
  // and augmentation of the images are functions of the step. All ranks have the same, and any
  // number of ranks goes on from it.
  Checkpoint save() const;

  // Goes on where `checkpoint`, saved from a session of the same configuration, was. Throws
  // Error(kData) where it does not fit; the session is then of no use.
  void restore(const Checkpoint& checkpoint);

  // Returns once everything asked of the device is done.
  void synchronize() const;

  int64_t steps_done() const { return step_; }
  int64_t batch_size() const { return batches_.batch_size(); }
  int64_t steps_per_epoch() const { return batches_.per_epoch(); }
  int64_t total_steps() const { return approx::total_steps(config_.recipe, steps_per_epoch()); }
  int64_t period() const { return period_; }
  double approximated_share() const { return approximated_share_; }
  const Split& split() const { return split_; }
  Network& network() const { return *network_; }
  WeightAverage* average() const { return average_.get(); }  // null: none
  Collectives* ranks() const { return ranks_.get(); }        // null: this process alone
  std::vector<Json> layer_events() const;  // of several ranks, of this one's share of the images

  // "<layer>:<product>" and the share of entries that stayed of its pruned gradients since the last
  // call. Waits for the device.
  std::vector<std::pair<std::string, double>> take_densities();

 private:
  // Whether the next step is behind the epochs in which the first convolution's bias trains.
  bool holds_first_bias() const;
  void open_lookahead(const std::vector<NamedTensor>& tensors);
  std::unique_ptr<GradientReduction> make_reduction() const;
  void open_graphs(bool reduced_by_others);
  Batch next_batch();
  void captured_step(const Batch& batch, double learning_rate, StepObserver* observer);
  // All of a step that a graph may have in it: forward and backward pass, update, sum of the
  // losses.
  void compute(const Batch& batch, const StepRate& learning_rate, StepObserver* observer);
  at::Tensor loss_of(const Batch& batch);
  // Sets the weight of a whitening convolution, once in a training: not where one goes on.
  void whiten_first();
  // The tensors that steps change in place, named.
  std::vector<NamedTensor> state() const;

  World world() const { return ranks_ == nullptr ? World() : ranks_->world(); }

  RunConfig config_;
  const LoadedDataset& dataset_;
  std::shared_ptr<Collectives> ranks_;  // null: none
  at::Device device_;
  Split split_;
  Batches batches_;
  std::shared_ptr<Network> network_;
  std::unique_ptr<ScheduledLayers> layers_;
  std::vector<NamedTensor> parameters_;  // those that train
  std::unique_ptr<GradientReduction> reduction_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;  // null: none
  std::unique_ptr<Lookahead> lookahead_;    // null: none
  std::unique_ptr<LossScale> loss_scale_;   // null: none
  std::unique_ptr<StepGraphs> graphs_;      // null: none
  std::string no_graphs_;                   // why there are none, where there might be
  at::Tensor learning_rate_;                // on a device that is not the host; else undefined
  at::Tensor loss_sum_;                     // on the device, read by take_mean_loss
  at::Tensor step_loss_;                    // of several ranks: their mean
  at::Tensor first_bias_;                   // of which the recipe ends the training; else undefined
  int64_t loss_steps_ = 0;
  int64_t step_ = 0;
  int64_t period_ = 1;
  double approximated_share_ = 0;
  int64_t own_steps_ = 0;  // of those, by this object
  bool counts_gradients_ = false;
  bool is_whitened_ = false;
};

}  // namespace approx
