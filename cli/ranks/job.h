// A run of several ranks as one process for its coordinator: `approxtrain train --job DIR`. Its
// descriptor kWorkerEvents is open for writing, as for a worker of one process
// (cli/sweep/worker.h). It starts the launcher and supervises it.
#pragma once

#include <string>

namespace approx {

// Does the task in DIR/config.json. Rank 0's events go to DIR/events.jsonl and to the coordinator
// as they come. Its last event follows when all ranks have ended; if a rank failed, an error that
// names it replaces that event (cli/ranks/job_end.h). SIGINT, SIGTERM and SIGUSR1 become one
// SIGUSR1 to each rank. No process that it started and no file for them survives it, even if the
// coordinator, the launcher or a rank is killed. Returns the exit code of the process.
int run_job(const std::string& directory);

}  // namespace approx
