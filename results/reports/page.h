// A page with everything that a store holds: the answers, the papers, all rows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "results/records/snapshot.h"
#include "results/rows/options.h"

namespace approx {

// Draws the text of a CSV file with plots/SCRIPT.gp as SVG. Throws Error(kUsage) where that fails;
// the page then says so in place of the figure.
using DrawSvg = std::function<std::string(const std::string& script, const std::string& csv)>;

// The command line for words of the program, such as {"sweep", "@quickstart"}, with the database.
using CommandText = std::function<std::string(const std::vector<std::string>& words)>;

// An HTML page that opens from disk, with what was compared, the verdicts and what is missing on
// top. `scale`: that of papers' items, "" for the one of each at which most was measured. Items
// whose files cannot be read are left out, and `problems` gets why. `command`: none for
// "approxtrain" and the words. Throws as reports do.
std::string report_page(const Snapshot& snapshot, const ReportOptions& options,
                        const std::string& scale, const DrawSvg& draw,
                        std::vector<std::string>& problems, const CommandText& command = {});

}  // namespace approx
