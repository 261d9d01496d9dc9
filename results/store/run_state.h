// Where a run stands.
#pragma once

#include <array>
#include <string_view>

#include "base/enum_text.h"
#include "base/error.h"

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

// As the store, the events and the command line have them.
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

// The state of that name in a store. Throws Error(kDatabase) where there is none.
inline RunState stored_run_state(std::string_view text) {
  const auto state = find_named<RunState>(text);
  if (!state) throw database_error("the store has a run in the unknown state \"{}\"", text);
  return *state;
}

// Whether it is one that a report counts, and a sweep does not do again.
constexpr bool is_result(RunState state) {
  return state == RunState::kFinished || state == RunState::kDiverged;
}

// Whether a sweep does a run that came to it again without being asked.
constexpr bool is_done_again(RunState state) {
  return state == RunState::kInterrupted || state == RunState::kLost;
}

// Whether a run that came to it would have trained on, had nothing come from outside: what it had
// reached by then stands. Of one that failed nobody knows.
constexpr bool is_cut_off(RunState state) {
  return state == RunState::kTimeout || state == RunState::kOom ||
         state == RunState::kInterrupted || state == RunState::kLost;
}

}  // namespace approx
