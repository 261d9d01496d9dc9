#include "cli/sweep/observed.h"

#include <csignal>
#include <cstring>

#include "base/error.h"
#include "cli/text.h"

namespace approx {
namespace {

std::string seconds_text(std::chrono::nanoseconds time) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

// The end of a worker that said nothing.
void end_silently(const Observed& worker, RunEnd& end) {
  if (const auto signal = worker.process.signal) {
    end.error = fmt::format("killed by signal {} ({})", *signal, strsignal(*signal));
    if (*signal == SIGKILL || *signal == SIGTERM) end.state = RunState::kLost;
    if (*signal == SIGKILL && worker.out_of_memory) end.state = RunState::kOom;
  } else {
    end.error = fmt::format("exited with code {} and without a final event",
                            worker.process.exit_code.value_or(-1));
  }
  if (!worker.output.empty()) {
    end.error += fmt::format("; output: {}", fmt::join(worker.output, " | "));
  }
}

}  // namespace

std::optional<int> Observed::signal() const {
  const auto said = last.is_object() ? last.value("signal", Json()) : Json();
  return holds_whole<int>(said) ? std::optional(said.get<int>()) : process.signal;
}

std::string library_of(const Json& start) {
  const Json engine = start.value("engine", Json());
  const Json library = engine.is_object() ? engine.value("library", Json()) : Json();
  return library.is_string() ? library.get<std::string>() : "";
}

Overdue overdue(const SweepOptions& sweep, std::chrono::nanoseconds lasted,
                std::chrono::nanoseconds silent) {
  if (sweep.timeout.count() > 0 && lasted > sweep.timeout) {
    return {fmt::format("not done after {} (--timeout)", format_duration(sweep.timeout)), false};
  }
  if (sweep.stall_timeout.count() > 0 && silent > sweep.stall_timeout) {
    return {fmt::format("no sign of life for {} (--stall-timeout)",
                        format_duration(sweep.stall_timeout)),
            true};
  }
  return {};
}

RunEnd end_of(const Observed& worker) {
  RunEnd end{
      .state = RunState::kFailed, .exit_code = worker.process.exit_code, .signal = worker.signal()};
  const auto text = [&](const char* key) {
    const auto value = worker.last.is_object() ? worker.last.value(key, Json()) : Json();
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  const std::string kind = text("event");
  const auto state = find_named<RunState>(text("state"));
  if (kind == "final" && state && is_result(*state)) {
    end.state = *state;
  } else if (!worker.overdue.why.empty()) {
    const bool paused = worker.paused_in_silence.count() > 0;
    end.state = paused                     ? RunState::kInterrupted
                : worker.overdue.is_silent ? RunState::kFailed
                                           : RunState::kTimeout;
    end.error = worker.overdue.why;
    if (paused) end.error += ", beside a pause of " + seconds_text(worker.paused_in_silence);
  } else if (worker.asked_to_stop || (kind == "final" && state == RunState::kInterrupted)) {
    end.state = RunState::kInterrupted;
    if (!worker.asked_to_stop) end.error = "its process was asked to stop";
  } else if (kind == "error") {
    if (state == RunState::kOom || state == RunState::kLost) end.state = *state;
    if (worker.out_of_memory) end.state = RunState::kOom;
    end.error = printable(text("message"));
  } else if (kind == "final") {
    end.error =
        fmt::format("its final event has the unknown state \"{}\"", printable(text("state")));
  } else {
    end_silently(worker, end);
  }
  return end;
}

std::string paused_text(std::chrono::nanoseconds paused) {
  return "paused for " + seconds_text(paused);
}

std::vector<std::string> taint_of(const Observed& worker) {
  if (worker.paused.count() == 0) return {};
  const Json said = worker.last.is_object() ? worker.last.value("taint", Json()) : Json();
  for (const auto& reason : said.is_array() ? said : Json::array()) {
    if (reason.is_string() && reason.get<std::string>().starts_with("paused for ")) return {};
  }
  return {"its sweep was " + paused_text(worker.paused)};
}

std::string summary(const RunEnd& end, const std::vector<Json>& events) {
  if (!end.error.empty()) return end.error;
  std::string text;
  for (const auto& event : events) {
    if (event.value("event", Json()) == "metric" && event.value("name", Json()) == "accuracy" &&
        event.value("split", Json()) != "train" && event.value("value", Json()).is_number()) {
      text = fmt::format("accuracy {:.2f} %", 100 * event["value"].get<double>());
    }
  }
  return text;
}

}  // namespace approx
