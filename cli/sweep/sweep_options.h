// A user's options for the runs of a sweep, and the result of a sweep.
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
  int64_t jobs = 1;                           // runs at a time; timing runs always one
  std::chrono::nanoseconds timeout{0};        // for one run; 0: none
  std::chrono::nanoseconds stall_timeout{0};  // without an event of a run; 0: none
  // Limit for the whole sweep, 0: none. The sweep starts no run that would probably not fit
  // (RunQueue). At the end it asks running ones to stop; they can go on another time.
  std::chrono::nanoseconds budget{0};
  // Time from asking a run to stop until killing it.
  std::chrono::nanoseconds grace{std::chrono::seconds(10)};
  // Whether runs have cores of their own (cli/process/core_pool.h). That is for timing runs, and
  // where several runs work at a time.
  bool pin = true;
  int64_t memory_bytes = 0;  // limit of a worker's own memory; 0: no limit
  int64_t max_failures = 0;  // start no more runs after this many failures; 0: no limit
  // How often a disturbed timing is repeated, after all other runs.
  int64_t timing_retries = 1;
  // Time or epochs between the checkpoints of an accuracy run; both 0: none are written.
  std::chrono::nanoseconds checkpoint_time{std::chrono::minutes(5)};
  int64_t checkpoint_epochs = 0;
  // Where accuracy runs save the operands of their layers ("": nowhere), and how often. Only one of
  // the two intervals is not 0.
  std::string record_folder;
  int64_t record_epochs = 1, record_steps = 0;
  RankOptions ranks;  // for runs of several ranks
  bool require_clean = false;
  bool network_db = false;  // whether the database may be on a network file system
};

struct SweepResult {
  int64_t done_before = 0;    // finished or diverged before
  int64_t failed_before = 0;  // without a result, and not asked to be repeated
  int64_t excluded = 0;
  int64_t elsewhere = 0;  // being run by another process
  int64_t finished = 0, diverged = 0, failed = 0, interrupted = 0;
  int64_t cut_off = 0, cut_off_before = 0;  // by --timeout, which is no failure
  int64_t timed_again = 0;                  // disturbed timings that were repeated
  // Finished timing runs, of this sweep or earlier, that do not count because they were disturbed.
  int64_t tainted = 0;
  // Left out after max_failures, after an interruption or for lack of time.
  int64_t not_started = 0;
  bool budget_used_up = false;
  int signal = 0;            // the signal that interrupted the sweep; 0: none
  bool device_lost = false;  // three runs in a row failed on their device
  // The fault of the library that computes, in one line. No run that met it is stored.
  std::string library_problem;
  struct Failure {
    std::string run, state, why, folder;  // describe(), one line, where its output is
  };
  std::vector<Failure> failures;  // of the runs that failed in this sweep, in their order
};

}  // namespace approx
