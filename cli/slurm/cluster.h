// Slurm as this program sees it: three of its commands.
#pragma once

#include <set>
#include <string>
#include <utility>

namespace approx {

// Submits a script whose files lie in `folder`; `after`: to begin when these jobs (between colons)
// have ended, however they did; "": at once. Returns the job's id. Throws Error(kUsage) where there
// is no sbatch or it refuses, with what it says. What it says may be wrong: a controller that does
// not answer in time may have taken the job. Of the user's SBATCH_ variables those count that say
// on whose account or where a job is, and of these the ones that the script says nothing of.
std::string submit_job(const std::string& folder, const std::string& script,
                       const std::string& after = "");

// Every task of an array that waits or is at work, of whoever: its number, with the id of its job
// or with the folder that it was submitted with.
struct QueuedTasks {
  std::set<std::pair<std::string, std::string>> by_job, by_folder;
};

// Throws as above, of squeue.
QueuedTasks queued_tasks();

// Whether srun is there and starts processes of Open MPI that find each other (PMIx).
bool srun_knows_pmix();

}  // namespace approx
