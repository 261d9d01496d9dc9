// What the ranks of trainings sent to each other.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// One row for each (row of report_table of several ranks, module of its network), the mean over its
// trainings, or over its timing runs where it has none: bytes that one rank sends, beside those of
// exact training. Layer "", behind the others, is what goes along with the gradients. Throws as
// report_table does.
Table report_traffic(const std::string& db, const ReportOptions& options = {});

}  // namespace approx
