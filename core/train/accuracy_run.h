// Accuracy runs: what a worker process does to see how well a network trains.
#pragma once

#include <atomic>
#include <memory>

#include "core/config/run_config.h"
#include "core/data/dataset.h"
#include "core/engine/engine.h"
#include "core/parallel/collectives.h"
#include "core/train/checkpoint.h"

namespace approx {

// Trains for the recipe's epochs with evaluations, or until one of them reaches `stop_at`; events
// as docs/internals/events.md says. The result is the same for the same configuration on the same
// machine and number of threads, in one go or in several from the checkpoints between: a run that
// goes on reports the metrics of before once more. Recording changes nothing of it. Of several
// `ranks`, all of which call this, each has a sink of its own; they stop where one is to stop, rank
// 0 alone writes checkpoints, and alone reads them. Throws Error(kUsage) where no step would be
// recorded, or none can be.
void run_accuracy(const RunConfig& config, const LoadedDataset& dataset,
                  const Checkpoints& checkpoints, const EventSink& sink,
                  const std::atomic<bool>& stop, const Recording& recording = {},
                  std::shared_ptr<Collectives> ranks = nullptr);

// How many of the first steps train and are not timed: four, or as many as a schedule's period, in
// which they allocate and choose algorithms. Where steps are captured (`captures`) as many periods
// as it takes to capture each row of the schedule (StepGraphs): an exact training, of one row, is
// through with that in its first steps. Never more than a quarter of all.
int64_t warmup_steps(int64_t period, int64_t total_steps, bool captures);

// Throws Error(kData) for a checkpoint that a run of `config` must not go on from: one of another
// configuration, or, on a GPU, of a program whose clock left out what the device had still to do
// (until 2026-11-27).
void require_own(const Checkpoint& checkpoint, const RunConfig& config);

}  // namespace approx
