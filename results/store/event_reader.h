// Reads the events of a run as lines of JSON (docs/internals/events.md), from a pipe or a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"

namespace approx {

// Assembles the events of one run from bytes as they arrive. A faulty worker may send anything:
// lines that are no events are counted and left out, and the memory for kept events is bounded.
class EventReader {
 public:
  using Use = std::function<void(const Json& event)>;

  // Calls `use` with each event that `bytes` complete.
  void add(std::string_view bytes, const Use& use);

  // Ends the input; a last line without a line feed counts as a line.
  void finish(const Use& use);

  // Returns the kept events: all but progress and notes.
  std::vector<Json> take_events() { return std::exchange(events_, {}); }

  // The "final" or "error" event, after which no event counts; null if there is none yet.
  const Json& last() const { return last_; }

  int64_t garbage() const { return garbage_; }  // lines that were no events

 private:
  void end_line(const Use& use);

  std::string line_;       // incomplete last line
  bool skipping_ = false;  // the line is too long for an event
  std::vector<Json> events_;
  size_t kept_bytes_ = 0, kept_values_ = 0;
  int64_t garbage_ = 0;
  Json last_;
};

}  // namespace approx
