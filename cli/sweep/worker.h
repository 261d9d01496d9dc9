// The process that computes one run: `approxtrain train --worker DIR`, started by the coordinator
// with the descriptor kWorkerEvents open for writing (cli/process/protocol.h).
#pragma once

#include <string>

namespace approx {

// Does what DIR/config.json says. Every event but "progress" goes to DIR/events.jsonl first and is
// on disk before "final" or "error" is reported. SIGINT and SIGTERM stop the run after the current
// step. Returns the exit code of the process; what goes wrong is reported as an "error" event.
int run_worker(const std::string& directory);

// The same as one rank of several (cli/ranks/rank.h): rank 0 reports to its job, which keeps
// DIR/events.jsonl; of the others one event alone is kept, an "error".
int run_rank(const std::string& directory);

}  // namespace approx
