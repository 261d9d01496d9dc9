// Observations of a worker from outside, and the resulting state of its run.
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

// Why a run exceeds its time.
struct Overdue {
  std::string why;         // "not done after 10 min 00 s (--timeout)"; "": it does not
  bool is_silent = false;  // by --stall-timeout: it hangs, which is a failure, and a limit is none
};

// Observations of a worker that has ended.
struct Observed {
  Json last;  // its "final" or "error" event; null if it sent none
  ProcessEnd process;
  bool asked_to_stop = false;  // by this process, for the user
  Overdue overdue;             // why this process stopped it
  // How long the coordinator was paused, during the run and since the worker's last sign of life.
  std::chrono::nanoseconds paused{0}, paused_in_silence{0};
  bool out_of_memory = false;       // the kernel killed it for its memory (MemoryKills)
  std::vector<std::string> output;  // its last lines, printable

  // The signal that ended it, or that ended another rank according to one of its ranks.
  std::optional<int> signal() const;
};

// The build id of the library that computes a run, from its "start" event; "" where that lacks it.
std::string library_of(const Json& start);

// Whether a run exceeds its time (--timeout, --stall-timeout; 0: none), with its duration and its
// time without an event.
Overdue overdue(const SweepOptions& sweep, std::chrono::nanoseconds lasted,
                std::chrono::nanoseconds silent);

// The state of its run, and the reason. A worker that was silent for too long counts as interrupted
// if the coordinator was paused in that time. It is unknown whether it would have reported.
RunEnd end_of(const Observed& worker);

// A pause as text: "paused for 6.0 s".
std::string paused_text(std::chrono::nanoseconds paused);

// Disturbances of a timing that the coordinator knows and the worker has not reported.
std::vector<std::string> taint_of(const Observed& worker);

// An end in one line: its error, or the last accuracy in the run's events.
std::string summary(const RunEnd& end, const std::vector<Json>& events);

}  // namespace approx
