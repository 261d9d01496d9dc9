// What is seen of a worker from outside, and what that makes of its run.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/params.h"
#include "cli/process/worker_process.h"
#include "cli/sweep/sweep_options.h"
#include "results/store/run_store.h"

namespace approx {

// What was seen of a worker that is gone.
struct Observed {
  Json last;  // its "final" or "error" event, null if it sent none
  ProcessEnd process;
  bool asked_to_stop = false;  // by us, for the user
  std::string overdue;         // by us, why: "no event for 10 min 00 s"
  // How long the coordinator was paused, during the run and since the last that was heard of it.
  std::chrono::nanoseconds paused{0}, paused_in_silence{0};
  bool out_of_memory = false;       // the kernel killed it for its memory (MemoryKills)
  std::vector<std::string> output;  // its last lines, printable

  // The signal that ended it, or that one of its ranks says was another's end.
  std::optional<int> signal() const;
};

// The build id of the library that computes a run, by its "start" event; "" where that lacks it.
std::string library_of(const Json& start);

// Why a run is over its time that was begun so long ago and has not spoken for so long; "" where it
// is not (--timeout, --stall-timeout; 0: none).
std::string overdue(const SweepOptions& sweep, std::chrono::nanoseconds lasted,
                    std::chrono::nanoseconds silent);

// The state of its run, and why. One that was silent for too long, with a pause in that silence, is
// interrupted: nobody knows whether it would have spoken.
RunEnd end_of(const Observed& worker);

// "paused for 6.0 s".
std::string paused_text(std::chrono::nanoseconds paused);

// What the coordinator knows that disturbed a timing and the worker has not said itself.
std::vector<std::string> taint_of(const Observed& worker);

// What is worth saying of an end in one line: its error, or the last accuracy of the run's events.
std::string summary(const RunEnd& end, const std::vector<Json>& events);

}  // namespace approx
