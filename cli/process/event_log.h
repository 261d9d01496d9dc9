// The events that a worker reports, on their way to the coordinator.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/params.h"
#include "results/store/run_state.h"

namespace approx {

// Both ends of the worker's reports: the file that survives everything, then the descriptor
// kWorkerEvents (cli/process/protocol.h).
class EventLog {
 public:
  // `path` "": to the descriptor alone. Throws Error(kInternal) where the file cannot be opened.
  explicit EventLog(const std::string& path);

  // Every event but "progress" goes to the file first; "final" and "error" are on disk before they
  // are reported. Throws Error(kInternal).
  void write(const Json& event);

 private:
  std::string path_;
  Descriptor file_;
};

// What is said in place of "final" where a run cannot go on.
Json error_event(ErrorKind kind, const std::string& message, RunState state);

// A field of an "error" event: the library that computes is at fault, not the run.
inline constexpr const char* kOfLibrary = "library";

// The end of a process that reports itself: tells `log`, where there is one, of the problem, and
// prints it. Where the file is what cannot be written the coordinator may still hear of it.
[[noreturn]] void end_with(const Json& problem, EventLog* log);

}  // namespace approx
