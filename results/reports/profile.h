// Performance profiles.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// Performance profiles over all networks, data sets and settings as workloads
// (results/stats/profile.h), by the median time to target: one row for each (method and schedule,
// tau). Groups that were only trained exactly are no workloads. Throws as report_table does.
Table report_profile(const std::string& db, const ReportOptions& options = {});

}  // namespace approx
