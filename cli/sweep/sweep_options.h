// What a user says of how the runs of a sweep are done, and what came of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/ranks/rank_options.h"
#include "cli/sweep/rerun.h"

namespace approx {

struct SweepOptions {
  Rerun rerun;
  int64_t jobs = 1;                           // runs at the same time; timing runs always one
  std::chrono::nanoseconds timeout{0};        // of one run, 0: none
  std::chrono::nanoseconds stall_timeout{0};  // without an event of a run, 0: none
  // Limit for the whole sweep, 0: none. The sweep starts no run that would probably not fit
  // (RunQueue). At the end it asks running ones to stop; they can go on another time.
  std::chrono::nanoseconds budget{0};
  // From being asked to stop to being killed.
  std::chrono::nanoseconds grace{std::chrono::seconds(10)};
  // Whether runs have cores of their own (cli/process/core_pool.h) where several are at work, and
  // timing runs.
  bool pin = true;
  int64_t memory_bytes = 0;  // that a worker may have of its own, 0: no limit
  int64_t max_failures = 0;  // start no more runs after so many failed ones, 0: no limit
  // How often a timing that was disturbed is made again, after all other runs.
  int64_t timing_retries = 1;
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
  int64_t timed_again = 0;  // disturbed timings that were begun once more
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

}  // namespace approx
