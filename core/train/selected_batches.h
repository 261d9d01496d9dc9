// Applies a batch source to a training. It remembers what steps saw of each example, plans epochs
// and scores the candidates of steps. It owns the small network that may score them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/run_config.h"
#include "core/data/dataset.h"
#include "core/selections/selection.h"
#include "core/train/batches.h"
#include "core/train/checkpoint.h"
#include "core/train/optimizer.h"

namespace approx {

class Network;
struct NetworkInput;

// The loss of each example [B] float, by which a recipe trains: logits [B,classes] float.
at::Tensor losses_of(const at::Tensor& logits, const at::Tensor& labels, const Recipe& recipe);

class SelectedBatches {
 public:
  // `train`: the training part of `dataset`, whose candidates `batches` describes: of a step, and
  // steps of an epoch. Seeds LibTorch's generator if the source has a small network. Throws
  // Error(kUsage) if configuration, data and source do not fit.
  SelectedBatches(const RunConfig& config, const LoadedDataset& dataset, const DeviceImages& train,
                  const NetworkInput& input, int64_t batch, int64_t steps);
  ~SelectedBatches();
  SelectedBatches(const SelectedBatches&) = delete;
  SelectedBatches& operator=(const SelectedBatches&) = delete;

  // Whether batches have weights.
  bool weighs() const { return source_->weighs(); }

  // The examples of an epoch (Batches::follow). Waits for the device once if the source remembers.
  EpochPlan plan(int64_t epoch, const std::vector<int64_t>& order);

  // The number of steps after which the work of choosing repeats.
  int64_t period() const;

  // The mean loss of the small network over all candidates since the last call; none without a
  // small network or a step. Waits for the device. Not finite: its choices mean nothing.
  std::optional<double> take_proxy_loss();

  // The examples that a step trains on, of its candidates. Their number does not change from step
  // to step of an epoch. `network` is the one that trains; `rate` is the step's learning rate.
  Batch chosen(const Batch& candidates, int64_t step, Network& network, double rate);

  // The loss of a batch, and remembers its examples unless `remember` is false. logits [B,classes]
  // float. The device does it alone, at fixed addresses, so that a graph may contain it.
  at::Tensor loss(const at::Tensor& logits, const Batch& batch, bool remember);

  // The tensors that steps change in place, with names.
  std::vector<NamedTensor> state() const;

  // Saves the plan of the present epoch, the source and the data set.
  void save(Checkpoint& checkpoint) const;
  // Throws Error(kData) for a checkpoint of another source or data set.
  void restore(const Checkpoint& checkpoint);

 private:
  class Proxy;

  at::Tensor scores(const Batch& candidates, Network& network);
  void draw(int64_t epoch);
  Rng rng(int64_t step) const;

  const RunConfig config_;
  const std::string dataset_sha256_;
  const SourceSizes sizes_;
  const at::Device device_;
  std::unique_ptr<BatchSource> source_;
  std::unique_ptr<Proxy> proxy_;  // null: none
  at::Tensor memory_;             // [N] float; undefined: nothing is remembered
  at::Tensor uniform_;            // [steps, batch] of the present epoch; undefined: no draws
  int64_t epoch_ = -1;            // of plan_
  EpochPlan plan_;
};

}  // namespace approx
