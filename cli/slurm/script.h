// Batch scripts as text. Values on sbatch's lines have been checked to be plain words
// (cli/slurm/request.h); all others are quoted for the shell.
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
  // The processes of a task, and the processors of each. One process is the coordinator. It starts
  // runs of several ranks, several at a time with --jobs, among the task's processors.
  int64_t processes = 1, cpus = 1;
  int64_t gpus = 0;       // per node
  bool gpu_each = false;  // one per process, on whatever node the process is
  bool one_node = false;  // whether all its processes are on one node
};

// How long before its time limit a task gets SIGUSR1: two minutes, or a quarter of a short limit.
// `time_limit` 0: the limit of the partition.
std::chrono::seconds warning_ahead(Nanoseconds time_limit);

// The script of a job array. Each task runs `command` as a step, with the task's number as last
// word. A task that was warned of its time limit (138), or that somebody killed, is requeued and
// continues. A task of a cancelled job is not. Timing tasks have a node to themselves and a core
// for each thread.
std::string array_script(const JobArray& array, const SlurmRequest& request,
                         const std::vector<std::string>& command);

// The command `program db merge FOLDER --db DB`, for a person to call when no task works any more.
std::string merge_command(const std::string& program, const std::string& folder,
                          const std::string& db);

// A script that runs the merge as a job. The merge has nothing to do where no task has begun.
std::string merge_script(const std::string& job_name, const SlurmRequest& request,
                         const std::string& program, const std::string& folder,
                         const std::string& db);

}  // namespace approx
