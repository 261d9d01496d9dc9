// Time to a target.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// Time to a target, with the runs that never reach it counted as what they are
// (results/stats/time_to_target.h): one row for each row of report_table. The speedup is (ratio of
// steps to target) x (ratio of step times); the second comes from timing runs where there are any.
// Throws as report_table does.
Table report_tta(const std::string& db, const ReportOptions& options = {});

}  // namespace approx
