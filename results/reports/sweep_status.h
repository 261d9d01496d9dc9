// Where sweeps stand: what a second look from another shell shows while they run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/records/snapshot.h"
#include "results/render/table.h"

namespace approx {

// A run that somebody has begun and not ended.
struct RunAtWork {
  std::string label;  // "zero, Schedule 1, resnet20, cifar10, seed 3"
  std::string host;   // where it runs
  bool here = false;  // its folder is on this machine
  bool gone = false;  // here, and its process is no more: the next sweep takes it up
  std::optional<std::chrono::seconds> silent;  // since it last reported anything, where it is here
  int64_t epoch = 0;                           // the last that it reported, 0: none yet
  std::optional<double> accuracy;  // a share, likewise, not of the images that it trains on
};

struct FailedRun {
  std::string label, state, error;  // one line
};

// Of one experiment of a store.
struct SweepStatus {
  std::string experiment;
  int64_t finished = 0, diverged = 0;
  int64_t to_do = 0;  // what the next sweep does unasked: not begun, interrupted or lost
  std::vector<RunAtWork> running;
  std::vector<FailedRun> failed;  // in the order of the experiment
  // What is left at the mean duration of its finished runs, as many at a time as run now (at least
  // one); nothing without a finished run, or with nothing to do.
  std::optional<std::chrono::seconds> left;

  int64_t runs() const;
};

// All experiments of the store, or the one of that name, in the order in which they were added.
// Throws Error(kUsage) for an experiment that the store does not have.
std::vector<SweepStatus> sweep_status(const Snapshot& snapshot, const std::string& experiment);

// A row for each experiment; below it a line for each run at work and for each of the first ten
// that failed.
Table status_table(const std::vector<SweepStatus>& sweeps);

}  // namespace approx
