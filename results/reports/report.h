// What the store holds, as tables. Each function reads a snapshot of the file and gives the same
// table for the same content, to the byte. An empty store gives an empty table.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/params.h"
#include "results/render/table.h"
#include "results/reports/main_table.h"
#include "results/reports/options.h"

namespace approx {

// One row for each kernel case and machine: its last benchmark. `options.experiment` has no meaning
// here.
Table report_kernels(const std::string& db);

// Accuracy and loss over the epochs: one row for each (row of report_table, metric, split, epoch),
// the mean over the seeds with its t-interval, and the least and the largest.
Table report_curves(const std::string& db, const ReportOptions& options = {});

// What each product of each layer did: one row for each (row of report_table, layer, product), the
// mean over its runs.
Table report_layers(const std::string& db, const ReportOptions& options = {});

// Time to a target, with the runs that never reach it counted as what they are
// (results/stats/time_to_target.h): one row for each row of report_table. The speedup is (ratio of
// steps to target) x (ratio of step times); the second comes from timing runs where there are any.
Table report_tta(const std::string& db, const ReportOptions& options = {});

// Speedup against loss: one row for each row of report_table that has both, and whether it is on
// the front of its network, data set and settings (results/stats/pareto.h).
Table report_pareto(const std::string& db, const ReportOptions& options = {});

// Performance profiles over all networks, data sets and settings as workloads
// (results/stats/profile.h), by the median time to target: one row for each (method and schedule,
// tau). Groups that were only trained exactly are no workloads.
Table report_profile(const std::string& db, const ReportOptions& options = {});

// One line for each (network, data set, setting, machine, method and schedule): whether it is
// worth using, by how much, at what risk, and when that was measured.
Table report_advice(const std::string& db, const ReportOptions& options = {});

// What is the same in two stores, A against B: accuracy (Welch's interval of the difference) and
// step time or kernel time. `failures` gets a word for each row that is "slower", "inferior" or
// "differs". What the runs cannot tell is "undecided"; stores with no row in common give none.
Table report_compare(const std::string& a, const std::string& b, const ReportOptions& options,
                     std::vector<std::string>* failures = nullptr);

// One row for each attempt at a run.
Table report_runs(const std::string& db, const ReportOptions& options = {});

// Everything about one run as one document: "schema": "approxtrain.run/1", "run", "config",
// "environment", "metrics", "layers", "blocks". Throws Error(kUsage) for an unknown id.
Json run_details(const std::string& db, int64_t run_id);

// The same for people, as Markdown.
std::string render_run(const Json& details);

}  // namespace approx
