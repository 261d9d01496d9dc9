// What the process of a run, a worker or the job of several ranks, begins and ends with.
#pragma once

#include <optional>
#include <string>

#include "base/params.h"
#include "cli/process/disturbance.h"
#include "results/store/run_lock.h"

namespace approx {

// Takes the directory of a run for this process, and keeps the pipe to the coordinator from
// programs that it starts. Ends the process where the coordinator is gone already, which nobody
// would hear; nothing, said on stderr, where another process has the directory.
std::optional<RunLock> take_run(const std::string& directory);

// Adds what disturbed a timing to its "final" event, behind what that has seen itself.
void add_taints(Json& event, const Disturbance& disturbance);

// The metric "core_wait" of a timing with that "final" event.
Json core_wait_event(const Json& final, const Disturbance& disturbance);

}  // namespace approx
