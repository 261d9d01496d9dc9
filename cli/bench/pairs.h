// Times of kernel cases, taken side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/text.h"
#include "core/engine/engine.h"
#include "results/stats/stats.h"

namespace approx {

struct BenchEffort {
  int64_t repetitions = 20;                              // of each case, in a round
  Nanoseconds min_time = std::chrono::milliseconds(20);  // of a repetition
  // Half width of the interval in percent above which more is measured, up to five times as much.
  double max_noise = 5;
};

// A case and how often it is called in one repetition.
struct TimedCase {
  const KernelCase* kernel = nullptr;
  int64_t calls = 1;
};

// So many calls that a repetition takes as long as it should. Warms caches up.
TimedCase timed_case(const KernelCase& kernel, const BenchEffort& effort);

// Nanoseconds of one call of each case, in each repetition: those of one repetition are measured
// next to each other, in an order that turns round from one to the next. The calls of a repetition
// are started one after the other and waited for together, as those of a training step are. A
// repetition at whose end a device is held back is measured again, a few times; one that never runs
// free is left out. Throws Error, also where none did.
std::vector<std::vector<double>> times_of(const std::vector<TimedCase>& cases, int64_t repetitions);

struct PairTimes {
  std::vector<double> baseline_ns, ns;  // the i-th of each next to each other
  Ratio ratio;                          // baseline over the other: above 1 is faster
  double noise = 0;                     // half width of its interval in percent
};

// One case against another, for as long as the noise asks for. Throws Error.
PairTimes measure_pairs(const KernelCase& baseline, const KernelCase& kernel,
                        const BenchEffort& effort);

// "faster", "slower", "same", "ambiguous"
const char* verdict_of(const Ratio& ratio);

// Nanoseconds of a call of something that is no case.
double median_time(const std::function<void()>& work, int64_t repetitions);

}  // namespace approx
