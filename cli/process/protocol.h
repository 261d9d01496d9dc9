// The protocol between a coordinator and its workers: a task in a file, events through a pipe.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "cli/process/launcher.h"
#include "core/config/run_config.h"
#include "core/engine/engine.h"
#include "core/python/python_methods.h"
#include "results/store/run_folders.h"

namespace approx {

// The worker's end of the pipe to the coordinator; one event a line.
inline constexpr int kWorkerEvents = 3;

// The signals that ask a worker to stop after its step. A worker begins with them blocked.
sigset_t worker_signals();

// A file of a run directory, besides those of results/store/run_folders.h: the worker's output, if
// there is any.
inline constexpr const char* kOutputFile = "stderr.log";

struct WorkerTask {
  std::string run_key;
  RunConfig config;
  Place place;
  bool isolated = false;                   // nothing else is timed on this machine meanwhile
  std::vector<std::string> changed_files;  // changed files of the experiment (cli/environment.h)
  std::vector<int> cpus;                   // CPUs to use; empty: all
  int64_t memory_bytes = 0;                // limit of its own memory; 0: no limit
  std::optional<PythonMethods> python = std::nullopt;  // of the run's methods; nothing: none
  // For a run of several ranks:
  Launcher launcher = Launcher::kMpirun;
  bool oversubscribe = false;               // ranks share cores
  std::vector<std::vector<int>> rank_cpus;  // CPUs of each rank among `cpus`; empty: all
};

// Writes the task. Throws Error(kInternal) where the file cannot be written.
void write_task(const std::string& run_directory, const WorkerTask& task);

// Reads the task. Throws where there is none.
WorkerTask read_task(const std::string& run_directory);

// An event as one line of valid UTF-8, with its line feed.
std::string event_line(const Json& event);

}  // namespace approx
