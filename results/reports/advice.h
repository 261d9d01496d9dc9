// Whether each method of a store is worth using, for other reports than `advice`.
#pragma once

#include "results/reports/worth.h"
#include "results/rows/options.h"

namespace approx {

// The answer of report_advice for each row that has a speedup or a loss. Throws as report_advice
// does.
Worths worths_of(const RowSet& set, const Snapshot& snapshot, const ReportOptions& options);

}  // namespace approx
