// Runs the runs of an experiment, each in a process of its own, and records how each one ended,
// whatever ended it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/ranks/rank_options.h"
#include "cli/sweep/rerun.h"
#include "core/experiment/experiment.h"

namespace approx {

struct SweepOptions {
  Rerun rerun;
  int64_t jobs = 1;                           // runs at the same time; timing runs always one
  std::chrono::nanoseconds timeout{0};        // of one run, 0: none
  std::chrono::nanoseconds stall_timeout{0};  // without an event of a run, 0: none
  // Of the whole sweep: no run is begun that will probably not end within it (RunQueue), and what
  // is at work at its end is asked to stop, to go on from there another time. 0: none.
  std::chrono::nanoseconds budget{0};
  // From being asked to stop to being killed.
  std::chrono::nanoseconds grace{std::chrono::seconds(10)};
  // Whether runs have cores of their own (cli/process/core_pool.h) where several are at work, and
  // timing runs.
  bool pin = true;
  int64_t memory_bytes = 0;  // that a worker may have of its own, 0: no limit
  int64_t max_failures = 0;  // start no more runs after so many failed ones, 0: no limit
  // Between the checkpoints of an accuracy run; both 0: none are written.
  std::chrono::nanoseconds checkpoint_time{std::chrono::minutes(5)};
  int64_t checkpoint_epochs = 0;
  // Where accuracy runs save the operands of their layers, "": nowhere; how often, by the one that
  // is not 0.
  std::string record_folder;
  int64_t record_epochs = 1, record_steps = 0;
  RankOptions ranks;  // of runs of several
};

struct SweepResult {
  int64_t done_before = 0;    // finished or diverged without our doing
  int64_t failed_before = 0;  // without a result, and not asked to be run again
  int64_t excluded = 0;
  int64_t elsewhere = 0;  // still being run by another process
  int64_t finished = 0, diverged = 0, failed = 0, interrupted = 0;
  int64_t tainted = 0;      // timing runs of those finished, here or before, that do not count
  int64_t not_started = 0;  // left out after max_failures, an interruption or for want of time
  bool budget_used_up = false;
  int signal = 0;            // that interrupted the sweep, 0: none
  bool device_lost = false;  // three runs in a row failed on their device
  // What is wrong with the library that computes, in one line; no run that met it is stored.
  std::string library_problem;
  struct Failure {
    std::string run, state, why, folder;  // describe(), one line, where its output is
  };
  std::vector<Failure> failures;  // of the runs that failed here, in their order
};

// "topk_position:k=1, Schedule 1, resnet20, cifar10, seed 3".
std::string describe(const PlannedRun& run);

// Does what is missing of `experiment` in the store `options.db`, and returns when all of it ended
// or SIGINT, SIGTERM or SIGHUP stopped it (once: workers are asked to stop, twice: they are
// killed), or SIGUSR1 (however often: they are asked to stop). Throws Error(kDatabase) when the
// store fails, Exit where it was stopped twice while another program had the store, after its
// workers have been stopped; what they had reported is in their run directories and is taken up by
// the next call.
SweepResult run_experiment(const Experiment& experiment, const GlobalOptions& options,
                           const SweepOptions& sweep);

}  // namespace approx
