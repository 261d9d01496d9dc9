// Accuracy runs: measure how well a network trains. A worker process does one.
#pragma once

#include <atomic>
#include <memory>

#include "core/config/run_config.h"
#include "core/data/dataset.h"
#include "core/engine/engine.h"
#include "core/parallel/collectives.h"
#include "core/train/checkpoint.h"

namespace approx {

// Trains for the recipe's epochs with evaluations. Ends earlier where one of them reaches
// `stop_at`, or is `patience` epochs after the best. Sends the events of docs/internals/events.md.
// The result is equal for equal configurations on one machine with one number of threads. This
// holds for a run in one go and for one that was interrupted and resumed from checkpoints. A
// resumed run reports its earlier metrics once more. Recording does not change the result.
//
// All of several `ranks` call this, each with a sink of its own. If one is to stop, all stop. Only
// rank 0 writes and reads checkpoints. Throws Error(kUsage) if no step would be recorded, or none
// can be.
void run_accuracy(const RunConfig& config, const LoadedDataset& dataset,
                  const Checkpoints& checkpoints, const EventSink& sink,
                  const std::atomic<bool>& stop, const Recording& recording = {},
                  std::shared_ptr<Collectives> ranks = nullptr);

// The number of first steps that train without being timed. In them, steps allocate memory and
// choose algorithms. It is four, or one period of the schedule if that is longer. If steps are
// captured (`captures`), it is as many periods as StepGraphs needs to capture each row of the
// schedule. An exact training has a single row, and captures it in its first steps. At most a
// quarter of all steps.
int64_t warmup_steps(int64_t period, int64_t total_steps, bool captures);

// Throws Error(kData) for a checkpoint from which a run of `config` must not resume. It may be of
// another configuration. On a GPU it may be of a program whose clock left out pending work of the
// device (until 2026-11-27).
void require_own(const Checkpoint& checkpoint, const RunConfig& config);

}  // namespace approx
