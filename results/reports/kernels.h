// Kernel benchmarks: one product of one layer's shape at a time, exact against approximated.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// One row for each kernel case and machine: its last benchmark. The options have no meaning here.
Table report_kernels(const std::string& db, const ReportOptions& options = {});

}  // namespace approx
