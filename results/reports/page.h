// Everything that a store holds as one page: the answers, the papers, all rows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "results/records/snapshot.h"
#include "results/rows/options.h"

namespace approx {

// Draws the text of a CSV file by plots/SCRIPT.gp as SVG. Throws Error(kUsage) where that cannot be
// done; the page then says so in place of the figure.
using DrawSvg = std::function<std::string(const std::string& script, const std::string& csv)>;

// An HTML page that opens from disk. `scale`: that of papers' items, "" for the one of each at
// which most was measured. Items whose files cannot be read are left out, and `problems` gets why.
// Throws as reports do.
std::string report_page(const Snapshot& snapshot, const ReportOptions& options,
                        const std::string& scale, const DrawSvg& draw,
                        std::vector<std::string>& problems);

}  // namespace approx
