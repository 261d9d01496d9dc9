// One process of a run of several ranks, started by its job's launcher (cli/ranks/job.h).
#pragma once

#include <cstdint>
#include <string>

#include "cli/process/protocol.h"

namespace approx {

// Files of a run directory: the output of rank N, and its "error" event. Rank 0 has no such event
// file.
std::string rank_log(const std::string& directory, int64_t rank);
std::string rank_error_file(const std::string& directory, int64_t rank);

// The rank of this process, as its launcher says. Throws Error(kUsage) where no launcher does.
int64_t own_rank();

// Makes this process rank `rank`. For rank 0, the descriptor kWorkerEvents is the standard output
// that the launcher reads; for other ranks it is their error file. Other output goes to the rank's
// log. The process does not outlive its job. Throws Error(kInternal).
void become_rank(const std::string& directory, int64_t rank, Launcher launcher);

// The CPUs of a rank among those of the task; nothing where it has none of its own.
std::vector<int> cpus_of_rank(const WorkerTask& task, int64_t rank);

}  // namespace approx
