// The process that computes one run: `approxtrain train --worker DIR`, started
// by the coordinator with the descriptor kWorkerEvents open for writing.
#pragma once

#include <string>

#include "base/params.h"

namespace approx {

// The pipe to the coordinator, one event a line.
inline constexpr int kWorkerEvents = 3;

// Files of a run directory.
inline constexpr const char* kConfigFile = "config.json";   // what the worker is to do
inline constexpr const char* kEventsFile = "events.jsonl";  // its events, progress left out
inline constexpr const char* kOutputFile = "stderr.log";    // what it printed, if anything

// An event as one line of valid UTF-8, its line feed included.
std::string event_line(const Json& event);

// Does what DIR/config.json says: {"run_key", "config", "data_dir",
// "verify_data", and perhaps "checkpoints"}. Every event but "progress" goes to DIR/events.jsonl
// first and is on disk before "final" or "error" is reported. SIGINT and SIGTERM stop the run after
// the current step. Returns the exit code of the process; what goes wrong is reported as an "error"
// event.
int run_worker(const std::string& directory);

}  // namespace approx
