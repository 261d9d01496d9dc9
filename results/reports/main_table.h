// The main table: what became of each method on each network, data set and schedule.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// One row for each (network, data set, schedule, method) with equal settings: accuracy, its loss
// against dense paired by seed, speedup, time to the experiment's target, throughput, and what
// became of the runs. docs/statistics.md says how each number is made. Throws Error(kDatabase) as
// open_snapshot does, Error(kUsage) for an unknown experiment.
Table report_table(const std::string& db, const ReportOptions& options = {});

}  // namespace approx
