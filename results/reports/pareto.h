// Speedup against loss.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/reports/options.h"
#include "results/reports/rows.h"

namespace approx {

// Speedup against loss: one row for each row of report_table that has both, and whether it is on
// the front of its network, data set and settings (results/stats/pareto.h). Throws as report_table
// does.
Table report_pareto(const std::string& db, const ReportOptions& options = {});

// The same of rows that were read already.
Table pareto_table(const RowSet& set);

}  // namespace approx
