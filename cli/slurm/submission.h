// Submissions for a database: one folder beside it for each `sweep --slurm`. The folder holds the
// scripts and, for each task, its runs and their results.
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
    // "" if unknown: the job was refused, or the submitting process ended before it got the id.
    std::string id;
    int64_t first = 0, last = 0;  // numbers of tasks
  };

  std::string folder;      // DB.slurm/EXPERIMENT-1, absolute
  std::string folder_was;  // its path at submission, by which Slurm knows it
  std::string experiment;  // id of the experiment
  std::vector<Job> jobs;
  int64_t tasks = 0;
  bool settled = false;  // no task will work any more, and all results are in the database

  // Whether a task, or any task, waits or is at work.
  bool is_queued(int64_t task, const QueuedTasks& queue) const;
  bool is_queued(const QueuedTasks& queue) const;
};

// The folder DB.slurm, absolute.
std::string submissions_folder(const std::string& db);

// All submissions for a database, sorted by folder; none where nothing was submitted. Throws
// Error(kData) for a file that is not of this program.
std::vector<Submission> read_submissions(const std::string& db);

// The folder of the next submission of this experiment.
std::string next_folder(const std::string& db, const std::string& experiment);

// Writes the record of a submission into its folder. Throws Error(kUsage) as write_file does.
void save(const Submission& submission);

// The database of a task, FOLDER/task-N.db, and the databases of all tasks that have one and
// neither wait nor work.
std::string task_database(const std::string& folder, int64_t task);
std::vector<std::string> ended_databases(const Submission& submission, const QueuedTasks& queue);

// The folders with files of the tasks' runs, over all submissions for a database. Tasks that never
// began and submissions without a record are included.
std::vector<std::string> task_run_folders(const std::string& db);

// The work of a task.
struct SlurmTask {
  // An experiment with only the task's runs, each with its place in the whole experiment.
  Experiment experiment;
  std::string command_line;
};

// Writes the file of a task with `runs`, which are members of experiment.runs().
void write_task_file(const std::string& folder, int64_t task, const Experiment& experiment,
                     const TaskRuns& runs, const std::string& command_line);

// Reads the file of a task on the machine that does it. Throws Error(kData) for a missing or
// foreign file. Throws Error(kUsage) where this program and the data sets here (`dataset_sha256`,
// as in load_experiment) would give a run another key. Its results would then be stored under a
// wrong name.
SlurmTask read_task_file(const std::string& folder, int64_t task,
                         const std::function<std::string(const std::string&)>& dataset_sha256);

// The keys of a task's runs, unchecked.
std::vector<std::string> keys_of_task(const std::string& folder, int64_t task);

}  // namespace approx
