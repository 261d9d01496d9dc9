// One process of a run of several ranks, started by its job's launcher (cli/ranks/job.h).
#pragma once

#include <cstdint>
#include <string>

#include "cli/process/protocol.h"

namespace approx {

// In a run directory: what rank N prints; its "error" event, where it is not rank 0 and has one.
std::string rank_log(const std::string& directory, int64_t rank);
std::string rank_error_file(const std::string& directory, int64_t rank);

// Which rank the launcher says that this process is. Throws Error(kUsage) where none does.
int64_t own_rank();

// Makes this process rank `rank`: the descriptor kWorkerEvents is what the launcher takes from its
// standard output where it is rank 0, and its error file elsewhere; what it prints goes to its log.
// It does not outlive its job. Throws Error(kInternal).
void become_rank(const std::string& directory, int64_t rank, Launcher launcher);

// Its part of the cores that the task has; nothing where it has none of its own.
std::vector<int> cpus_of_rank(const WorkerTask& task, int64_t rank);

}  // namespace approx
