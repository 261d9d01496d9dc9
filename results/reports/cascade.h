// From the speed of a product to the speed of a training.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// One row for each method and schedule of which anything is known: how many times as fast as exact
// training its products are (bench-kernel), what that makes of all products of its layers, what is
// left of it in a step (timing runs) and on the way to the target. Throws as report_table does.
Table report_cascade(const std::string& db, const ReportOptions& options = {});

}  // namespace approx
