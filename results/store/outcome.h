// Extracts the outcome of a run from the events of its worker.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/params.h"

namespace approx {

// The rows of a run, extracted from its events (docs/internals/events.md). A worker may write
// anything: an event with a missing field or a wrong type is counted and left out. The others still
// count.
struct Outcome {
  // A row of a table of details, without the number of its run.
  struct Detail {
    const char* table;
    Json row;
  };

  // Extracts the rows from the first `most` events that are well formed.
  explicit Outcome(const std::vector<Json>& events,
                   int64_t most = std::numeric_limits<int64_t>::max());

  std::optional<Json> start, final, error;
  std::vector<Detail> details;
  std::vector<int64_t> step_ns;
  std::vector<std::string> taint;
  int64_t taken = 0, malformed = 0;  // numbers of events

 private:
  void add(const Json& event);
};

// The complete lines of the log in a run directory, without lines that are of no use afterwards.
// The bounds are those of a worker's pipe (results/store/event_reader.h).
std::vector<Json> read_events(const std::string& run_directory);

// Likewise, up to the first line that is no event. A power cut may leave zeros in place of lines
// and a final event behind them. Such a run has not finished.
std::vector<Json> read_events_before_damage(const std::string& run_directory);

}  // namespace approx
