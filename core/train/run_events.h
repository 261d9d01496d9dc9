// The events that both kinds of runs share (docs/internals/events.md).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/enum_text.h"
#include "base/params.h"
#include "core/data/dataset.h"
#include "core/engine/engine.h"
#include "core/train/session.h"

namespace approx {

using RunClock = std::chrono::steady_clock;

inline int64_t nanoseconds(RunClock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// How a run without an error ended.
enum class Ending { kFinished, kDiverged, kInterrupted };
constexpr auto enum_texts(Ending) {
  return std::to_array<EnumText<Ending>>({{Ending::kFinished, "finished"},
                                          {Ending::kDiverged, "diverged"},
                                          {Ending::kInterrupted, "interrupted"}});
}

// Where the loss or a parameter became not finite.
struct Divergence {
  int64_t step = 0;   // steps that were done when it was noticed
  std::string layer;  // the first layer with a parameter that is not finite; "": none
};

// A "metric" event of the session's present state. If the value is not finite, it is null with a
// marker.
Json metric_event(const Session& session, const char* name, std::string_view split,
                  int64_t train_ns, double value);

// Reports how the session's steps were done, if they may be graphs. "graph_rows" and "graphs" have
// the arm as their split: the kinds of steps, and how many of them were captured. "graph_steps" has
// "<arm>: <how>" as its split: the number of steps that were done so.
void report_graphs(
    const Session& session, const std::string& arm,
    const std::function<void(const char* name, const std::string& split, double value)>& metric);

// Sends the first events of a run, with `more` in the first one. If a step has fewer images than
// the configuration says, as there are no more, it also sends a note.
void send_start(const Session& session, const LoadedDataset& data, const RunConfig& config,
                const EventSink& sink, const Json& more = Json::object());

// The last event of every run, to which the caller adds more.
Json final_event(Ending ending, int64_t steps, RunClock::time_point began);
void put_divergence(Json& event, const Divergence& divergence);

}  // namespace approx
