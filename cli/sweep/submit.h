// `sweep --slurm`: submits the missing runs of an experiment as job arrays.
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

// The options of a sweep for its tasks, besides SlurmRequest.
struct TaskOptions {
  Rerun rerun;
  int64_t jobs = 1;                // runs of a task at a time
  std::vector<std::string> flags;  // of `sweep task`, each a word
  RankOptions ranks;               // for runs of several ranks
  bool dry_run = false;            // print the scripts; submit and write nothing
};

// Earlier submissions.
struct Submitted {
  std::optional<RunLock> lock;   // while it is held, nobody else submits for the database
  std::set<std::string> queued;  // keys of runs whose tasks wait or work
};

// Asks the cluster if the database has submissions, and merges the results of ended tasks into the
// database. A dry run merges and locks nothing. Throws Error(kUsage) where somebody else submits
// for the database now, or as cluster.h says, and Error(kDatabase) as merge_stores does.
Submitted look_at_submissions(const std::string& db, bool dry_run);

// Submits the runs of `experiment` that have no result in the database and are not queued, followed
// by a job that merges. Throws Error(kUsage) where a run does not set its number of threads, or
// sbatch refuses.
void submit_sweep(const Experiment& experiment, const GlobalOptions& options,
                  const SlurmRequest& request, const Submitted& before, const TaskOptions& tasks);

}  // namespace approx
