// The state of sweeps, for another shell while they run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/records/snapshot.h"
#include "results/render/table.h"

namespace approx {

// A run that has begun and not ended.
struct RunAtWork {
  std::string label;  // "zero, Schedule 1, resnet20, cifar10, seed 3"
  std::string host;   // the run's host
  bool here = false;  // whether its folder is on this machine
  // Whether it is here and its process has died: the next sweep continues it.
  bool gone = false;
  // Time since its last report, if it is here.
  std::optional<std::chrono::seconds> silent;
  int64_t epoch = 0;  // the last that it reported; 0: none yet
  // The last accuracy that it reported, a share, on images that it does not train on.
  std::optional<double> accuracy;
};

struct FailedRun {
  std::string label, state, error;  // one line
};

// The status of one experiment of a store.
struct SweepStatus {
  std::string experiment;
  int64_t finished = 0, diverged = 0;
  int64_t cut_off = 0;  // by the time limit of their sweep
  int64_t to_do = 0;    // runs that the next sweep does unasked: not begun, interrupted or lost
  std::vector<RunAtWork> running;
  std::vector<FailedRun> failed;  // in the order of the experiment
  // Expected time for the remaining runs, from the mean duration of the finished runs. It assumes
  // as many runs at a time as now (at least one). Nothing without a finished run, or with nothing
  // to do.
  std::optional<std::chrono::seconds> left;

  int64_t runs() const;
};

// The status of all experiments of the store, or of the one named `experiment`, in the order in
// which they were added. Throws Error(kUsage) for an experiment that the store does not have.
std::vector<SweepStatus> sweep_status(const Snapshot& snapshot, const std::string& experiment);

// A table with a row for each experiment. Below it there is a line for each running run and for
// each of the first ten that failed.
Table status_table(const std::vector<SweepStatus>& sweeps);

}  // namespace approx
