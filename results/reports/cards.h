// What the cards of the methods (docs/methods/) can say, and what they need before they can.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// One row for each method of the store, and for those of options.catalogue that it has nothing of:
// where its steps were faster and slower than exact ones and where that is open, what was measured
// of it, and what is missing. Throws as report_table does.
Table report_cards(const std::string& db, const ReportOptions& options = {});

}  // namespace approx
