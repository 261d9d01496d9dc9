// What each product of each layer did.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/reports/options.h"

namespace approx {

// One row for each (row of report_table, layer, product), the mean over its runs. Throws as
// report_table does.
Table report_layers(const std::string& db, const ReportOptions& options = {});

}  // namespace approx
