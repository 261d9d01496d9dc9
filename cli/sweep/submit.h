// `sweep --slurm`: what is missing of an experiment as job arrays.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/slurm/request.h"
#include "cli/sweep/sweep_options.h"
#include "core/experiment/experiment.h"
#include "results/store/run_lock.h"

namespace approx {

// What a sweep says of its tasks besides SlurmRequest.
struct TaskOptions {
  Rerun rerun;
  int64_t jobs = 1;                // runs of a task at the same time
  std::vector<std::string> flags;  // of `sweep task`, each a word
  RankOptions ranks;               // of runs of several
  bool dry_run = false;            // print the scripts; submit and write nothing
};

// What was submitted before.
struct Submitted {
  std::optional<RunLock> lock;   // as long as it is held nobody else submits for the database
  std::set<std::string> queued;  // keys of the runs that are with tasks which wait or work
};

// Asks the cluster where it has something of this database, and then takes what ended tasks came to
// into that; a dry run takes and locks nothing. Throws Error(kUsage) where somebody else submits
// for it now, or as cluster.h says; Error(kDatabase) as merge_stores does.
Submitted look_at_submissions(const std::string& db, bool dry_run);

// Submits the runs of `experiment` that have no result in the database and are not queued, and a
// job behind them that merges. Throws Error(kUsage) where a run does not say how many threads it
// has, or sbatch refuses.
void submit_sweep(const Experiment& experiment, const GlobalOptions& options,
                  const SlurmRequest& request, const Submitted& before, const TaskOptions& tasks);

}  // namespace approx
