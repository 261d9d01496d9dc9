#include "results/store/run_state.h"

#include "base/error.h"

namespace approx {

std::string_view name(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kFinished:
      return "finished";
    case RunState::kDiverged:
      return "diverged";
    case RunState::kFailed:
      return "failed";
    case RunState::kOom:
      return "oom";
    case RunState::kTimeout:
      return "timeout";
    case RunState::kInterrupted:
      return "interrupted";
    case RunState::kLost:
      return "lost";
  }
  return "";
}

std::optional<RunState> find_run_state(std::string_view text) {
  if (text == name(RunState::kRunning)) return RunState::kRunning;
  for (const RunState state : kEndStates) {
    if (text == name(state)) return state;
  }
  return std::nullopt;
}

RunState stored_run_state(std::string_view text) {
  const auto state = find_run_state(text);
  if (!state) throw database_error("the store has a run in the unknown state \"{}\"", text);
  return *state;
}

}  // namespace approx
