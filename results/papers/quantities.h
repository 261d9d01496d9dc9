// What kind of thing the quantities of papers are (core/experiment/item.h lists them).
#pragma once

#include "core/experiment/item.h"

namespace approx {

// What timing runs measure: steps of a method against exact ones.
inline bool is_speed(PaperQuantity quantity) {
  return quantity == PaperQuantity::kSpeedup || quantity == PaperQuantity::kTimeSaved ||
         quantity == PaperQuantity::kRealisation;
}

inline bool is_timing(PaperQuantity quantity) {
  return is_speed(quantity) || quantity == PaperQuantity::kTime ||
         quantity == PaperQuantity::kTimeToTarget;
}

// A number that stands on processes, each of which timed both sides. An estimate stands on seeds.
inline bool is_of_processes(const ReportedValue& value) {
  return is_speed(value.quantity) && value.basis != Basis::kEstimated;
}

// A speed or an accuracy against that of the exact training, which is its own reference.
inline bool is_against_dense(PaperQuantity quantity) {
  return is_speed(quantity) || quantity == PaperQuantity::kAccuracyLoss;
}

}  // namespace approx
