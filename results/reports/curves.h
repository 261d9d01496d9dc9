// Learning curves.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"
#include "results/rows/rows.h"

namespace approx {

// Accuracy and loss over the epochs: one row for each (row of report_table, metric, split, epoch),
// the mean over the seeds with its t-interval, and the least and the largest. Throws as
// report_table does.
Table report_curves(const std::string& db, const ReportOptions& options = {});

// The same of rows that were read already.
Table curves_table(const RowSet& set);

}  // namespace approx
