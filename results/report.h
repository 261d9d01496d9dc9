// What the store holds, as tables. Each function reads a snapshot of the file and gives the same
// table for the same content, to the byte. An empty store gives an empty table.
#pragma once

#include <cstdint>
#include <string>

#include "core/spec/params.h"
#include "results/table.h"

namespace approx {

struct ReportOptions {
  std::string experiment;        // its name, "@" in front allowed; "": everything in the store
  bool include_tainted = false;  // timing runs that were disturbed or shared the machine, too
};

// One row for each (network, data set, schedule, method) with equal settings: accuracy, its loss
// against dense paired by seed, speedup, time to the experiment's target, throughput, and what
// became of the runs. docs/statistics.md says how each number is made. Throws Error(kDatabase) as
// open_snapshot does, Error(kUsage) for an unknown experiment.
Table report_table(const std::string& db, const ReportOptions& options = {});

// One row for each kernel case and machine: its last benchmark. `options.experiment` has no meaning
// here.
Table report_kernels(const std::string& db);

// One row for each attempt at a run.
Table report_runs(const std::string& db, const ReportOptions& options = {});

// Everything about one run as one document: "schema": "approxtrain.run/1", "run", "config",
// "environment", "metrics", "layers", "blocks". Throws Error(kUsage) for an unknown id.
Json run_details(const std::string& db, int64_t run_id);

// The same for people, as Markdown.
std::string render_run(const Json& details);

}  // namespace approx
