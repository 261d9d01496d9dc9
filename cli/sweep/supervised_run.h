// A running run as its coordinator sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/awake_clock.h"
#include "cli/process/core_pool.h"
#include "cli/process/output_log.h"
#include "cli/process/worker_process.h"
#include "cli/sweep/library_watch.h"
#include "cli/sweep/observed.h"
#include "cli/sweep/sweep_options.h"
#include "core/experiment/experiment.h"
#include "results/store/event_reader.h"

namespace approx {

// Whether several processes train the run.
inline bool is_job(const PlannedRun& run) { return run.config.ranks > 1; }

// The state of the library file that a worker would open now.
FileState library_state();

// The process of a run, its reports, and its time limits. Times are of the coordinator's clock, so
// pauses of the coordinator do not count.
struct SupervisedRun {
  const PlannedRun* run;
  int64_t number;
  int64_t retries;      // of its run
  int64_t timed_again;  // as in Waiting
  int64_t run_id;
  std::string directory;
  AwakeClock& clock;
  OutputLog output;
  CorePool::Lease cores;
  FileState library = library_state();
  EventReader events;
  WorkerProcess process{directory, is_job(*run) ? WorkerKind::kJob : WorkerKind::kProcess};
  AwakeClock::time_point started = clock.now(), last_event = started;
  // The value of clock.paused() at the beginning, at the last look_after(), and at most at its last
  // event. A report read right after a pause may have been sent before the pause.
  std::chrono::nanoseconds paused_before = clock.paused(), paused_at_look = paused_before,
                           paused_at_event = paused_before;
  std::optional<AwakeClock::time_point> kill_at;
  Observed seen;
  std::string library_problem;  // why its result must not be stored

  // Reads events once, and calls `take` with each. Returns whether there may be more.
  bool read_events(const EventReader::Use& take);
  // Reads its output once, into its log. Returns whether there may be more.
  bool read_output();

  // Asks the run to stop if it exceeds its time, and kills it after `sweep.grace`.
  void look_after(const SweepOptions& sweep);

  // Sends the signal; look_after() kills the run if it does not end within `grace`.
  void ask_to_stop(int signal, std::chrono::nanoseconds grace);

  std::chrono::nanoseconds lasted() const { return clock.now() - started; }
};

}  // namespace approx
