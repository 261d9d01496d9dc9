// What kind of thing the quantities of papers are (core/experiment/item.h lists them).
#pragma once

#include <string_view>

#include "core/experiment/item.h"

namespace approx {

// The share of the time really saved over that of the multiply-accumulates saved, which no paper
// prints: shown beside both.
inline constexpr std::string_view kRealisation = "realisation";

// The basis of what the gradients of the convolutions take, of all of a step.
inline constexpr std::string_view kBackwardBasis = "measured-backward";

// What timing runs measure: steps of a method against exact ones.
inline bool is_speed(std::string_view quantity) {
  return quantity == "speedup" || quantity == "time_saved" || quantity == kRealisation;
}

inline bool is_timing(std::string_view quantity) {
  return is_speed(quantity) || quantity == "time" || quantity == "time_to_target";
}

// A number that stands on processes, each of which timed both sides. An estimate stands on seeds.
inline bool is_of_processes(const ReportedValue& value) {
  return is_speed(value.quantity) && value.basis != "estimated";
}

// A speed or an accuracy against that of the exact training, which is its own reference.
inline bool is_against_dense(std::string_view quantity) {
  return is_speed(quantity) || quantity == "accuracy_loss";
}

}  // namespace approx
