// Access to Slurm through three of its commands.
#pragma once

#include <set>
#include <string>
#include <utility>

namespace approx {

// Submits a script whose files are in `folder` and returns the job's id. `after` (jobs separated by
// colons): begin when these have ended, in any way; "": at once. Throws Error(kUsage) with sbatch's
// message where it refuses, and where there is no sbatch. The message may be wrong: a controller
// that does not answer in time may have taken the job. The user's SBATCH_ variables count only if
// they set a job's account or place, and if the script does not set it itself.
std::string submit_job(const std::string& folder, const std::string& script,
                       const std::string& after = "");

// All tasks of arrays that wait or are at work, of any user. Each is a task's number with the id of
// its job, or with the folder of its submission.
struct QueuedTasks {
  std::set<std::pair<std::string, std::string>> by_job, by_folder;
};

// Asks squeue for the queued tasks. Throws Error(kUsage) as submit_job() does.
QueuedTasks queued_tasks();

// Whether srun exists and starts processes of Open MPI that find each other (PMIx).
bool srun_knows_pmix();

}  // namespace approx
