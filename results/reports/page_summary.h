// The top of the page of a store: the things compared, the verdicts, the missing data.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "results/records/snapshot.h"
#include "results/render/html.h"
#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

struct PageSummary {
  std::string sentence;     // on all verdicts, as report_table has it; "" without any
  HtmlAttributes compared;  // networks, data sets, methods, machines, commits, runs
  // The verdicts, a row each; no rows without any.
  Table verdicts;
  // The data that experiments lack, a row each, with the whole command that makes it.
  Table missing;
  std::string next;  // the first of these commands; "" where nothing is missing
};

// `table`: report_table of the snapshot by `options`, which ask for verdicts. `command`: what is
// typed for words of the program such as {"sweep", "@quickstart"}. Throws as reports do.
PageSummary page_summary(
    const Snapshot& snapshot, const ReportOptions& options, const Table& table,
    const std::function<std::string(const std::vector<std::string>&)>& command);

}  // namespace approx
