// A run of several ranks as its coordinator has it: one process, `approxtrain train --job DIR`,
// with the descriptor kWorkerEvents open for writing, as a worker of one process has
// (cli/sweep/worker.h). It starts the launcher, and stays in front of it.
#pragma once

#include <string>

namespace approx {

// Does what DIR/config.json says. Rank 0's events go to DIR/events.jsonl and to the coordinator as
// they come, its last one when all ranks are gone, or in its place which of them failed
// (cli/ranks/job_end.h). SIGINT, SIGTERM and SIGUSR1 become one SIGUSR1 to each rank. Nothing that
// it started outlives it, nor is a file left for them: neither where the coordinator is killed, nor
// the launcher, nor a rank. Returns the exit code of the process.
int run_job(const std::string& directory);

}  // namespace approx
