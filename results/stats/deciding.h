// The interval by which a speedup is called faster or slower (docs/internals/statistics.md, "Is it
// worth using?").
#pragma once

#include <cstdint>

#include "results/stats/stats.h"

namespace approx {

// The confidence of an interval for a verdict before kProcessesForAVerdict processes. It is the
// rule of Haybittle 1971 and Peto et al. 1976 for early looks, which leaves the last look at 95 %.
inline constexpr double kEarlyConfidence = 0.999;

// The relative difference between occasions (days, builds) of timing. The interval of one occasion
// does not include it.
inline constexpr double kOccasionSpread = 0.03;

// The ratio with its deciding interval. With fewer than kProcessesForAVerdict processes, the
// confidence is kEarlyConfidence. With one occasion, the interval reaches at least from ratio /
// 1.03 to ratio * 1.03. The result has no interval if `ratio` has none or is over fewer than
// kProcessesForATiming processes.
Ratio deciding(const Ratio& ratio, int64_t occasions);

}  // namespace approx
