#include "cli/slurm/status.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <iterator>

#include "base/error.h"
#include "cli/slurm/submission.h"
#include "cli/text.h"

namespace approx {
namespace {

// The status of one task. One that has not begun, or is just writing, tells only what it is to do.
SweepStatus status_of_task(const Submission& submission, int64_t task) {
  const std::string database = task_database(submission.folder, task);
  if (std::filesystem::exists(database)) {
    try {
      // The task may be at work on another machine.
      const auto found = sweep_status(Snapshot(database, {.undo_unfinished = false}), "");
      if (!found.empty()) return found.front();
    } catch (const Error& error) {
      std::fputs((printable(error.what()) + "\n").c_str(), stderr);
    }
  }
  SweepStatus waiting;
  waiting.to_do = static_cast<int64_t>(keys_of_task(submission.folder, task).size());
  return waiting;
}

}  // namespace

std::vector<SweepStatus> submitted_status(const std::string& db, const std::string& experiment) {
  std::vector<SweepStatus> sweeps;
  for (const auto& submission : read_submissions(db)) {
    if (submission.settled || (!experiment.empty() && submission.experiment != experiment))
      continue;
    SweepStatus all;
    all.experiment = submission.experiment + ", Slurm";
    for (const auto& job : submission.jobs) all.experiment += job.id.empty() ? "" : " " + job.id;
    for (int64_t task = 0; task < submission.tasks; ++task) {
      auto part = status_of_task(submission, task);
      all.finished += part.finished;
      all.diverged += part.diverged;
      all.cut_off += part.cut_off;
      all.to_do += part.to_do;
      std::move(part.running.begin(), part.running.end(), std::back_inserter(all.running));
      std::move(part.failed.begin(), part.failed.end(), std::back_inserter(all.failed));
    }
    sweeps.push_back(std::move(all));
  }
  return sweeps;
}

}  // namespace approx
