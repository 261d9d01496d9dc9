// What a coordinator and its workers say to each other: a task in a file, events through a pipe.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "cli/process/launcher.h"
#include "core/config/run_config.h"
#include "core/engine/engine.h"
#include "results/store/run_folders.h"

namespace approx {

// The worker's end of the pipe to the coordinator, one event a line.
inline constexpr int kWorkerEvents = 3;

// The signals that ask a worker to stop after its step. It begins with them held back.
sigset_t worker_signals();

// A file of a run directory beside those of results/store/run_folders.h: what the worker printed,
// if anything.
inline constexpr const char* kOutputFile = "stderr.log";

struct WorkerTask {
  std::string run_key;
  RunConfig config;
  Place place;
  bool isolated = false;                   // nothing else is timed on this machine meanwhile
  std::vector<std::string> changed_files;  // of the experiment (cli/environment.h)
  std::vector<int> cpus;                   // that it is to use; empty: all that there are
  int64_t memory_bytes = 0;                // of its own that it may have at most; 0: no limit
  // For a run of several ranks:
  Launcher launcher = Launcher::kMpirun;
  bool oversubscribe = false;               // they share cores
  std::vector<std::vector<int>> rank_cpus;  // of `cpus` what each has; empty: all that there are
};

// Throws Error(kInternal) where the file cannot be written.
void write_task(const std::string& run_directory, const WorkerTask& task);

// Throws where there is no task.
WorkerTask read_task(const std::string& run_directory);

// An event as one line of valid UTF-8, its line feed included.
std::string event_line(const Json& event);

}  // namespace approx
