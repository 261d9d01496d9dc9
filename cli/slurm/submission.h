// What was submitted for a database: a folder for each `sweep --slurm`, beside it, that holds the
// scripts and, of each task, what it is to do and what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/slurm/cluster.h"
#include "cli/slurm/split.h"
#include "core/experiment/experiment.h"

namespace approx {

struct Submission {
  struct Job {
    // "": not known, since it was refused, or the process that submitted it ended before it heard.
    std::string id;
    int64_t first = 0, last = 0;  // tasks
  };

  std::string folder;      // DB.slurm/EXPERIMENT-1, absolute
  std::string folder_was;  // as it was called when it was submitted: what Slurm knows it by
  std::string experiment;  // its id
  std::vector<Job> jobs;
  int64_t tasks = 0;
  bool settled = false;  // no task will do any more, and all that came of them is in the database

  // Whether a task waits or is at work.
  bool is_queued(int64_t task, const QueuedTasks& queue) const;
  bool is_queued(const QueuedTasks& queue) const;
};

// DB.slurm, absolute.
std::string submissions_folder(const std::string& db);

// All of a database, by their folders; none where nothing was submitted. Throws Error(kData) for a
// file that is none of ours.
std::vector<Submission> read_submissions(const std::string& db);

// The folder that the next one of this experiment will have.
std::string next_folder(const std::string& db, const std::string& experiment);

// Writes what it says of itself into its folder. Throws Error(kUsage) as write_file does.
void save(const Submission& submission);

// FOLDER/task-N.db, and those of all tasks that have one and neither wait nor work.
std::string task_database(const std::string& folder, int64_t task);
std::vector<std::string> ended_databases(const Submission& submission, const QueuedTasks& queue);

// Where runs of tasks keep their files, of every submission for a database: of tasks that never
// began, and of submissions that have no record, too.
std::vector<std::string> task_run_folders(const std::string& db);

// What a task is to do.
struct SlurmTask {
  Experiment experiment;  // of its runs only, each with its place in the whole
  std::string command_line;
};

// Writes the task that has `runs`, members of experiment.runs().
void write_task_file(const std::string& folder, int64_t task, const Experiment& experiment,
                     const TaskRuns& runs, const std::string& command_line);

// Reads it on the machine that does it. Throws Error(kUsage) where this program, with the data sets
// that are here (`dataset_sha256`, as load_experiment takes it), would give a run another key: what
// it computed would then be filed under the name of something else. Error(kData) for no such file.
SlurmTask read_task_file(const std::string& folder, int64_t task,
                         const std::function<std::string(const std::string&)>& dataset_sha256);

// The keys of its runs, unchecked.
std::vector<std::string> keys_of_task(const std::string& folder, int64_t task);

}  // namespace approx
