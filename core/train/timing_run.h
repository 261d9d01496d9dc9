// Timing runs: measure how much faster an approximated training step is than an exact one.
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

// Trains the exact and the approximated network in one process, in alternating blocks of equally
// many steps. There are `config.blocks` pairs, in the order of exact_first(). A block has at least
// `config.block_steps` steps and a whole number of the schedule's periods. One process measures one
// value of the cell's speedup. It cannot measure how processes differ. Nothing is evaluated. Sends
// the events of docs/internals/events.md. Throws Error(kUsage) for a schedule that such a run does
// not reach (why_untimed).
//
// After these blocks, on the CPU, it measures the phases of an exact step. It also times the
// gradients of the convolutions of both networks alone, in pairs of blocks as well. If
// `config.operators` is the library, a step with LibTorch's operators replaces the approximated
// one. Its time is compared with that of the exact step that methods are compared with. Only whole
// steps are timed then.
//
// `probe`, if any, reads the state of the machine between blocks. A disturbed block is repeated
// (BlockTimer). A run taints itself if it could not be timed undisturbed, or if its networks were
// not timed alike (captured_unlike). Several `ranks` time common blocks, which begin on all at
// once. The clock is rank 0's, and a block that was disturbed on one rank is repeated on all.
void run_timing(const RunConfig& config, const LoadedDataset& dataset, const EventSink& sink,
                const std::atomic<bool>& stop, MachineProbe probe = {},
                std::shared_ptr<Collectives> ranks = nullptr);

// A taint if capturing a step failed in only one of the two networks. Its steps then cost the host
// more than those of the other. Nothing if not. Steps that are never captured because of their
// method (Method::waits_for) are timed as they are.
std::optional<std::string> captured_unlike(const std::optional<GraphReport>& exact,
                                           const std::optional<GraphReport>& approximated);

}  // namespace approx
