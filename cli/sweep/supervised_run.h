// A run at work, as its coordinator has it.
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

// Whether several processes train it.
inline bool is_job(const PlannedRun& run) { return run.config.ranks > 1; }

// The file of the library that a worker would open now.
FileState library_state();

// Its process, what that has said, and how long it is waited for. Times are those of the
// coordinator's clock, so that nobody is charged for a pause of the coordinator.
struct SupervisedRun {
  const PlannedRun* run;
  int64_t number;
  int64_t retries;      // of its run
  int64_t timed_again;  // as Waiting has it
  int64_t run_id;
  std::string directory;
  AwakeClock& clock;
  OutputLog output;
  CorePool::Lease cores;
  FileState library = library_state();
  EventReader events;
  WorkerProcess process{directory, is_job(*run) ? WorkerKind::kJob : WorkerKind::kProcess};
  AwakeClock::time_point started = clock.now(), last_event = started;
  // What clock.paused() was: at the beginning, when it was looked after last, and at most when it
  // last spoke. What is heard right after a pause may have been said before it.
  std::chrono::nanoseconds paused_before = clock.paused(), paused_at_look = paused_before,
                           paused_at_event = paused_before;
  std::optional<AwakeClock::time_point> kill_at;
  Observed seen;
  std::string library_problem;  // why its result is not to be stored

  // Reads once of its events, and calls `take` with each. Whether there may be more.
  bool read_events(const EventReader::Use& take);
  // The same for what it prints, which goes to its log.
  bool read_output();

  // Ends it where it is over its time: it is asked to stop, and killed when `sweep.grace` is over.
  void look_after(const SweepOptions& sweep);

  // Sends it the signal; look_after() kills it if that does not help.
  void ask_to_stop(int signal, std::chrono::nanoseconds grace);

  std::chrono::nanoseconds lasted() const { return clock.now() - started; }
};

}  // namespace approx
