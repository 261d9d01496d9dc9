// What trainings of a second or less report.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/train/accuracy_run.h"
#include "core/train/timing_run.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {

// A run of the toy of two epochs. No schedule: "".
inline RunConfig toy_config(const std::string& method = "dense", const std::string& schedule = "") {
  return toy_run(method, schedule, 2);
}

// The events of a run that is stopped, if at all, after the `stop_after`-th of them.
inline std::vector<Json> events_of(const RunConfig& config, const Checkpoints& checkpoints = {},
                                   size_t stop_after = 0) {
  static const LoadedDataset dataset = toy_dataset();
  std::vector<Json> events;
  std::atomic<bool> stop = false;
  const auto sink = [&](const Json& event) {
    events.push_back(event);
    if (events.size() == stop_after) stop = true;
  };
  if (config.purpose == Purpose::kTiming) {
    run_timing(config, dataset, sink, stop);
  } else {
    run_accuracy(config, dataset, checkpoints, sink, stop);
  }
  return events;
}

// Those of `events` whose "event" is `kind`.
inline std::vector<Json> of_kind(const std::vector<Json>& events, const std::string& kind) {
  std::vector<Json> found;
  for (const auto& event : events) {
    if (event.at("event") == kind) found.push_back(event);
  }
  return found;
}

}  // namespace approx
