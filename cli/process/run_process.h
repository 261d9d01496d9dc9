// The beginning and the end of the process of a run: a worker, or the job of several ranks.
#pragma once

#include <optional>
#include <string>

#include "base/params.h"
#include "cli/process/disturbance.h"
#include "results/store/run_lock.h"

namespace approx {

// Takes the directory of a run for this process, and makes the pipe to the coordinator close in
// programs that it starts. Ends the process if the coordinator is gone already, since nobody would
// receive its events. If another process has the directory, returns nothing and says so on stderr.
std::optional<RunLock> take_run(const std::string& directory);

// Appends the disturbances of a timing to those in its "final" event.
void add_taints(Json& event, const Disturbance& disturbance);

// The metric "core_wait" of a timing with that "final" event.
Json core_wait_event(const Json& final, const Disturbance& disturbance);

}  // namespace approx
