// Timing runs: how much faster an approximated training step is than an exact one.
#pragma once

#include <atomic>

#include "core/config/run_config.h"
#include "core/data/dataset.h"
#include "core/engine/engine.h"

namespace approx {

// Holds the exact and the approximated network in one process and trains each for the same number
// of steps in alternating blocks: `config.blocks` pairs, each block at least `config.block_steps`
// steps and a whole number of the schedule's periods, the order inside a pair drawn at random.
// Speed only: nothing is evaluated. Events as docs/events.md says.
void run_timing(const RunConfig& config, const LoadedDataset& dataset, const EventSink& sink,
                const std::atomic<bool>& stop);

}  // namespace approx
