// Slurm as this program sees it: three of its commands.
#pragma once

#include <set>
#include <string>
#include <utility>

namespace approx {

// Submits a script whose files lie in `folder`; `after`: to begin when these jobs (between colons)
// have ended, however they did; "": at once. Returns the job's id. Throws Error(kUsage) where there
// is no sbatch or it refuses, with what it says.
std::string submit_job(const std::string& folder, const std::string& script,
                       const std::string& after = "");

// Every task of an array that waits or is at work, of whoever: the id of its job and its number.
// Throws as above, of squeue.
using QueuedTasks = std::set<std::pair<std::string, std::string>>;
QueuedTasks queued_tasks();

// Whether srun is there and starts processes of Open MPI that find each other (PMIx).
bool srun_knows_pmix();

}  // namespace approx
