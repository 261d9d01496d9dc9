// Batch scripts as text. What stands on a line for sbatch has been checked to be plain words
// (cli/slurm/request.h); everything else is quoted for the shell.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/slurm/request.h"
#include "core/config/run_config.h"

namespace approx {

// The tasks of one purpose and one number of ranks.
struct JobArray {
  std::string name;  // of the job: letters, digits and _ - . :
  Purpose purpose = Purpose::kAccuracy;
  int64_t first = 0, last = 0;  // numbers of its tasks
  int64_t runs = 0;
  // A task's processes, and the processors of each. One is the coordinator; runs of several ranks,
  // several at a time with --jobs, are started among its processors.
  int64_t processes = 1, cpus = 1;
  int64_t gpus = 0;       // of each node
  bool gpu_each = false;  // one for each process, on whatever node that is
  bool one_node = false;  // its processes are all on one
};

// How long before the end of its time limit a task is told by SIGUSR1: two minutes, or a quarter
// of a limit that is short. 0: the limit is the partition's.
std::chrono::seconds warning_ahead(Nanoseconds time_limit);

// Runs `command`, words of which the number of the task will be the last, as a step of each task.
// A task that was told of the end of its time (138), or that somebody killed, is put back into the
// queue and goes on there; one of a job that was cancelled is not. Timing tasks have a node to
// themselves and a core for each thread.
std::string array_script(const JobArray& array, const SlurmRequest& request,
                         const std::vector<std::string>& command);

// `program db merge FOLDER --db DB`, for a person to call when no task works any more.
std::string merge_command(const std::string& program, const std::string& folder,
                          const std::string& db);

// The same as a job, which has nothing to do where no task came to begin.
std::string merge_script(const std::string& job_name, const SlurmRequest& request,
                         const std::string& program, const std::string& folder,
                         const std::string& db);

}  // namespace approx
