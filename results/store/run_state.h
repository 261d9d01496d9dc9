// The states of a run.
#pragma once

#include <array>
#include <string_view>

#include "base/enum_text.h"
#include "base/error.h"

namespace approx {

// All but kRunning are final. kFinished and kDiverged are results. The others are no results and
// are run again on demand; kInterrupted and kLost runs without being asked. kTimeout is no failure
// either: the user's limit ended the run. A run that hung is kFailed.
enum class RunState {
  kRunning,
  kFinished,
  kDiverged,
  kFailed,
  kOom,
  kTimeout,
  kInterrupted,
  kLost
};

inline constexpr std::array kEndStates = {
    RunState::kFinished, RunState::kDiverged,    RunState::kFailed, RunState::kOom,
    RunState::kTimeout,  RunState::kInterrupted, RunState::kLost};

// The names of states in the store, the events and the command line.
constexpr auto enum_texts(RunState) {
  return std::to_array<EnumText<RunState>>({{RunState::kRunning, "running"},
                                            {RunState::kFinished, "finished"},
                                            {RunState::kDiverged, "diverged"},
                                            {RunState::kFailed, "failed"},
                                            {RunState::kOom, "oom"},
                                            {RunState::kTimeout, "timeout"},
                                            {RunState::kInterrupted, "interrupted"},
                                            {RunState::kLost, "lost"}});
}

// The state of that name in a store. Throws Error(kDatabase) for an unknown name.
inline RunState stored_run_state(std::string_view text) {
  const auto state = find_named<RunState>(text);
  if (!state) throw database_error("the store has a run in the unknown state \"{}\"", text);
  return *state;
}

// Whether a state is a result, which reports count and sweeps do not repeat.
constexpr bool is_result(RunState state) {
  return state == RunState::kFinished || state == RunState::kDiverged;
}

// Whether a sweep repeats a run in this state without being asked.
constexpr bool is_done_again(RunState state) {
  return state == RunState::kInterrupted || state == RunState::kLost;
}

// Whether a run in this state was stopped from outside and would have trained on. Its measurements
// up to then are valid. For a run that failed this is unknown.
constexpr bool is_cut_off(RunState state) {
  return state == RunState::kTimeout || state == RunState::kOom ||
         state == RunState::kInterrupted || state == RunState::kLost;
}

}  // namespace approx
