// Whether a method is worth using.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// One line for each (network, data set, setting, machine, method and schedule): whether it is
// worth using, by how much, at what risk, and when that was measured. Throws as report_table does.
Table report_advice(const std::string& db, const ReportOptions& options = {});

}  // namespace approx
