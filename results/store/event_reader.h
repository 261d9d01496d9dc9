// The events of a run as lines of JSON (docs/internals/events.md), from a pipe or a file.
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
  size_t kept_bytes_ = 0, kept_values_ = 0;
  int64_t garbage_ = 0;
  Json last_;
};

}  // namespace approx
