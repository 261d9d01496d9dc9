// The state of job arrays.
#pragma once

#include <string>
#include <vector>

#include "results/reports/sweep_status.h"

namespace approx {

// The status of each unsettled submission for the database, of one experiment or ("") of any, from
// the databases of its tasks. The experiment's name is followed by its jobs. Runs of a task count
// as to do if the task has no database yet. They do too if its database is being written and cannot
// be read, which is reported. Asks no cluster and writes nothing. Gives no estimate of the
// remaining time.
std::vector<SweepStatus> submitted_status(const std::string& db, const std::string& experiment);

}  // namespace approx
