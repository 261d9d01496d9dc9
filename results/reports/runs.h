// The runs themselves, before anything is made of them.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// One row for each attempt at a run, with the settings of its cell; people see those of them in
// which the runs differ. All others are in `approxtrain show`. Throws as report_table does.
Table report_runs(const std::string& db, const ReportOptions& options = {});

}  // namespace approx
