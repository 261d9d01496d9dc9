// Timing runs: how much faster an approximated training step is than an exact one.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "core/config/run_config.h"
#include "core/data/dataset.h"
#include "core/engine/engine.h"
#include "core/parallel/collectives.h"
#include "core/train/machine_probe.h"
#include "core/train/step_graphs.h"

namespace approx {

// Holds the exact and the approximated network in one process and trains each for the same number
// of steps in alternating blocks: `config.blocks` pairs, each block at least `config.block_steps`
// steps and a whole number of the schedule's periods, in the order of exact_first(). What one
// process measures is one value of the cell's speedup: how processes differ, it cannot know. After
// them, on the CPU, where the time of an exact step goes, and the gradients of the convolutions of
// both networks by themselves, in pairs of blocks as well. Where `config.operators` is the library,
// its step takes the place of the approximated one: how much slower or faster a stock step is than
// the exact one that methods are held against; whole steps alone are timed then.
// `probe`, where there is one, is asked between blocks how the machine is: a block that was
// disturbed is done again (BlockTimer), and a run that could not be timed undisturbed, or whose
// networks were not timed alike (captured_unlike), taints itself. Speed only: nothing is evaluated.
// Events as docs/internals/events.md says. Several `ranks` time the same blocks, which begin on all
// at once; the clock is rank 0's, and a block that was disturbed on one is done again on all.
// Throws Error(kUsage) for a schedule that it does not come by (why_untimed).
void run_timing(const RunConfig& config, const LoadedDataset& dataset, const EventSink& sink,
                const std::atomic<bool>& stop, MachineProbe probe = {},
                std::shared_ptr<Collectives> ranks = nullptr);

// Of how the steps of both networks were done: a taint where capturing a step went wrong in one of
// them alone, since its steps cost the host more than those of the other. Steps that are not
// captured because of what they are (Method::waits_for) are timed as they always are.
std::optional<std::string> captured_unlike(const std::optional<GraphReport>& exact,
                                           const std::optional<GraphReport>& approximated);

}  // namespace approx
