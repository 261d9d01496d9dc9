// Runs: what a worker process does with one RunConfig.
#pragma once

#include <atomic>

#include "core/config/run_config.h"
#include "core/data/dataset.h"
#include "core/engine/engine.h"

namespace approx {

// Trains for the recipe's epochs with evaluations; events as docs/events.md says. The result is the
// same for the same configuration on the same machine and number of threads, in one go or in
// several from the checkpoints between: a run that goes on reports the metrics of before once more.
void run_accuracy(const RunConfig& config, const LoadedDataset& dataset,
                  const Checkpoints& checkpoints, const EventSink& sink,
                  const std::atomic<bool>& stop);

// Holds the exact and the approximated network in one process and trains each for the same number
// of steps in alternating blocks: `config.blocks` pairs, each block at least `config.block_steps`
// steps and a whole number of the schedule's periods, the order inside a pair drawn at random.
// Speed only: nothing is evaluated.
void run_timing(const RunConfig& config, const LoadedDataset& dataset, const EventSink& sink,
                const std::atomic<bool>& stop);

}  // namespace approx
