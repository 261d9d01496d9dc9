// What a worker is told of its run.
#pragma once

#include "cli/process/protocol.h"
#include "cli/sweep/coordinator.h"

namespace approx {

// By the run and the flags; what is known only when it begins is the coordinator's to say.
WorkerTask worker_task(const PlannedRun& run, const GlobalOptions& options,
                       const SweepOptions& sweep);

}  // namespace approx
