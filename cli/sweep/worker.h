// The process that computes one run: `approxtrain train --worker DIR`. The coordinator starts it
// with the descriptor kWorkerEvents open for writing (cli/process/protocol.h).
#pragma once

#include <string>

namespace approx {

// Does the task in DIR/config.json. Every event but "progress" goes to DIR/events.jsonl first, and
// is on disk before "final" or "error" is reported. SIGINT and SIGTERM stop the run after the
// current step. Returns the exit code of the process; a fault is reported as an "error" event.
int run_worker(const std::string& directory);

// Does the task as one rank of several (cli/ranks/rank.h). Rank 0 reports to its job, which writes
// DIR/events.jsonl. Only one event of each other rank is kept, an "error".
int run_rank(const std::string& directory);

}  // namespace approx
