// What the events of both kinds of runs have in common (docs/internals/events.md).
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

// How a run that was not cut off by an error ended.
enum class Ending { kFinished, kDiverged, kInterrupted };
constexpr auto enum_texts(Ending) {
  return std::to_array<EnumText<Ending>>({{Ending::kFinished, "finished"},
                                          {Ending::kDiverged, "diverged"},
                                          {Ending::kInterrupted, "interrupted"}});
}

// Where the loss or a parameter stopped being a number.
struct Divergence {
  int64_t step = 0;   // steps that were done when it was noticed
  std::string layer;  // the first with a parameter that is not finite, "" for none
};

// A "metric" event of the session as it stands: its value is null with a marker where it is not
// finite.
Json metric_event(const Session& session, const char* name, std::string_view split,
                  int64_t train_ns, double value);

// What became of the session's steps where they may be graphs: "graph_rows", with the arm as its
// split, how many kinds of steps there were and "graphs" how many of them were captured;
// "graph_steps", with "<arm>: <how>" as its split, how many steps were done so.
void report_graphs(
    const Session& session, const std::string& arm,
    const std::function<void(const char* name, const std::string& split, double value)>& metric);

// Sends what a run begins with, `more` among it; and where a step has fewer images than the
// configuration says, since there are no more, a note of that.
void send_start(const Session& session, const LoadedDataset& data, const RunConfig& config,
                const EventSink& sink, const Json& more = Json::object());

// What every run ends with; the caller adds the rest.
Json final_event(Ending ending, int64_t steps, RunClock::time_point began);
void put_divergence(Json& event, const Divergence& divergence);

}  // namespace approx
