// The exact training that takes no longer than a method's: what a faster method has to beat, since
// whoever is in a hurry can train exactly and stop earlier.
#pragma once

#include <cstdint>
#include <string_view>

#include "results/reports/rows.h"
#include "results/stats/stats.h"

namespace approx {

// Where it is seen.
enum class SameTimeSource {
  kNone,    // nowhere yet
  kCurves,  // in the dense runs themselves, at the evaluation at which the method's time is up
  kRuns     // in runs of their own (sweep --controls iso-time)
};

struct SameTime {
  SameTimeSource source = SameTimeSource::kNone;
  double epochs = 0;           // of exact training that fit into the method's time
  double trained = 0;          // those that the exact training has; 0 without any
  PairedDifference advantage;  // the exact training minus the method, points, paired by seed
  // Of the exact trainings, those that reach the row's target in that time.
  int64_t reached = 0, tried = 0;
};

// "the dense runs' curves", "runs of their own", "".
std::string_view name(SameTimeSource source);

// Of a row that timing runs show to be faster than its dense row; nothing where it is not. Between
// two evaluations the later one counts, which gives the exact training the more time. Of runs of
// their own those whose length is nearest count, by a fiftieth of the training at most, or, of
// whole epochs, by half of one. `target`: a share to reach, or none.
SameTime same_time(const RowSet& set, const Row& row, std::optional<double> target);

}  // namespace approx
