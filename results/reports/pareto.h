// Speedup against loss.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"
#include "results/rows/rows.h"

namespace approx {

// Speedup against loss: one row for each row of report_table that has both, and whether it is on
// the front of its network, data set and settings (results/stats/pareto.h). Throws as report_table
// does.
Table report_pareto(const std::string& db, const ReportOptions& options = {});

// The same of rows that were read already.
Table pareto_table(const RowSet& set);

}  // namespace approx
