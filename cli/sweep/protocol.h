// What a coordinator and its workers say to each other: a task in a file, events through a pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"
#include "core/config/run_config.h"
#include "core/engine/engine.h"

namespace approx {

// The worker's end of the pipe to the coordinator, one event a line.
inline constexpr int kWorkerEvents = 3;

// Files of a run directory.
inline constexpr const char* kTaskFile = "config.json";     // what the worker is to do
inline constexpr const char* kEventsFile = "events.jsonl";  // its events, progress left out
inline constexpr const char* kOutputFile = "stderr.log";    // what it printed, if anything

struct WorkerTask {
  std::string run_key;
  RunConfig config;
  Place place;
  bool isolated = false;                   // nothing else is timed on this machine meanwhile
  std::vector<std::string> changed_files;  // of the experiment (cli/environment.h)
};

// Throws Error(kInternal) where the file cannot be written.
void write_task(const std::string& run_directory, const WorkerTask& task);

// Throws where there is no task.
WorkerTask read_task(const std::string& run_directory);

// An event as one line of valid UTF-8, its line feed included.
std::string event_line(const Json& event);

// Puts the events of one run together from bytes as they come. A worker that has gone wild may send
// anything: lines that are no events are counted and left out, and what is kept has bounds.
class EventReader {
 public:
  using Use = std::function<void(const Json& event)>;

  // Calls `use` with each event that `bytes` complete.
  void add(std::string_view bytes, const Use& use);

  // At the end, where what no line feed ended is a line too.
  void finish(const Use& use);

  // Hands over what is kept of them: all but progress and notes.
  std::vector<Json> take_events() { return std::exchange(events_, {}); }

  // The "final" or "error" event, after which there are no more, null where there is none yet.
  const Json& last() const { return last_; }

  int64_t garbage() const { return garbage_; }  // lines that were no events

 private:
  void end_line(const Use& use);

  std::string line_;       // not complete yet
  bool skipping_ = false;  // the line is too long to be one
  std::vector<Json> events_;
  size_t kept_bytes_ = 0;
  int64_t garbage_ = 0;
  Json last_;
};

}  // namespace approx
