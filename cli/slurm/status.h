// Where job arrays stand.
#pragma once

#include <string>
#include <vector>

#include "results/reports/sweep_status.h"

namespace approx {

// What the databases of the tasks say, for each submission for the database that is not settled, of
// one experiment or ("") of any. The experiment is named with its jobs. Runs of a task that has no
// database yet, or one that is being written and cannot be read (which is said), are to do.
// Asks no cluster and writes nothing. How long it takes is not told.
std::vector<SweepStatus> submitted_status(const std::string& db, const std::string& experiment);

}  // namespace approx
