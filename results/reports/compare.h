// Whether two stores agree.
#pragma once

#include <string>
#include <vector>

#include "results/render/table.h"
#include "results/reports/options.h"

namespace approx {

// What is the same in two stores, A against B: accuracy (Welch's interval of the difference) and
// step time or kernel time. `failures` gets a word for each row that is "slower", "inferior" or
// "differs". What the runs cannot tell is "undecided"; stores with no row in common give none.
// Throws as report_table does.
Table report_compare(const std::string& a, const std::string& b, const ReportOptions& options,
                     std::vector<std::string>* failures = nullptr);

}  // namespace approx
