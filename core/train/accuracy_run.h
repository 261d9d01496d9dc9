// Accuracy runs: what a worker process does to see how well a network trains.
#pragma once

#include <atomic>
#include <memory>

#include "core/config/run_config.h"
#include "core/data/dataset.h"
#include "core/engine/engine.h"
#include "core/parallel/collectives.h"

namespace approx {

// Trains for the recipe's epochs with evaluations, or until one of them reaches `stop_at`; events
// as docs/events.md says. The result is the same for the same configuration on the same machine and
// number of threads, in one go or in several from the checkpoints between: a run that goes on
// reports the metrics of before once more. Recording changes nothing of it. Of several `ranks`, all
// of which call this, each has a sink of its own; they stop where one is to stop, rank 0 alone
// writes checkpoints, and alone reads them. Throws Error(kUsage) where no step would be recorded,
// or none can be.
void run_accuracy(const RunConfig& config, const LoadedDataset& dataset,
                  const Checkpoints& checkpoints, const EventSink& sink,
                  const std::atomic<bool>& stop, const Recording& recording = {},
                  std::shared_ptr<Collectives> ranks = nullptr);

}  // namespace approx
