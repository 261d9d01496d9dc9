// Whether each method of a store is worth using, for reports beside `advice` itself.
#pragma once

#include "results/reports/worth.h"
#include "results/rows/options.h"

namespace approx {

// What report_advice answers, of each row that has a speedup or a loss. Throws as it does.
Worths worths_of(const RowSet& set, const Snapshot& snapshot, const ReportOptions& options);

}  // namespace approx
