// Writes the events of a worker for its coordinator.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/params.h"
#include "results/store/run_state.h"

namespace approx {

// The two destinations of a worker's reports: first the file, which survives crashes, then the
// descriptor kWorkerEvents (cli/process/protocol.h).
class EventLog {
 public:
  // Opens the file and makes its name survive a power loss. With `path` "", writes only to the
  // descriptor. Throws Error(kInternal) where the file cannot be opened.
  explicit EventLog(const std::string& path);

  // Writes an event. Every event but "progress" goes to the file first; "final" and "error" are on
  // disk before they are reported. Throws Error(kInternal).
  void write(const Json& event);

 private:
  std::string path_;
  Descriptor file_;
};

// The event that replaces "final" where a run cannot go on.
Json error_event(ErrorKind kind, const std::string& message, RunState state);

// A field of an "error" event: the fault is in the library that computes, not in the run.
inline constexpr const char* kOfLibrary = "library";

// Ends a process that reports itself: sends `problem` to `log`, if there is one, and prints it. The
// coordinator may receive it even if the file cannot be written.
[[noreturn]] void end_with(const Json& problem, EventLog* log);

}  // namespace approx
