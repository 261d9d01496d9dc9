// By which interval a speedup is called faster or slower (docs/internals/statistics.md, "Is it
// worth using?").
#pragma once

#include <cstdint>

#include "results/stats/stats.h"

namespace approx {

// A verdict before kProcessesForAVerdict processes takes an interval of so much confidence: the
// rule of Haybittle 1971 and Peto et al. 1976 for looking early, which leaves the last look at 95
// %.
inline constexpr double kEarlyConfidence = 0.999;

// What occasions (days, builds) of timing differ by: the interval of one occasion does not know it.
inline constexpr double kOccasionSpread = 0.03;

// The ratio with the interval that decides: of kEarlyConfidence where it is over fewer than
// kProcessesForAVerdict processes, and reaching from ratio / 1.03 to ratio * 1.03 at least where it
// is of one occasion. Without an interval of its own, or over fewer than kProcessesForATiming
// processes, it has none.
Ratio deciding(const Ratio& ratio, int64_t occasions);

}  // namespace approx
