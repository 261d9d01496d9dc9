// Where a run stands.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace approx {

// All but kRunning are terminal. kFinished, kDiverged: a result. The others: no result, run again
// on demand (kInterrupted and kLost ones without being asked).
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

// "oom": as the store, the events and the command line have it.
std::string_view name(RunState state);

// The state of that name, nothing where there is none.
std::optional<RunState> find_run_state(std::string_view name);

// The same of a text that is in a store. Throws Error(kDatabase) where there is none.
RunState stored_run_state(std::string_view name);

// Whether it is one that a report counts, and a sweep does not do again.
constexpr bool is_result(RunState state) {
  return state == RunState::kFinished || state == RunState::kDiverged;
}

}  // namespace approx
