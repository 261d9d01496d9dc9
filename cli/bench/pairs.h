// Times of kernel cases, taken side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/text.h"
#include "core/engine/engine.h"
#include "results/stats/stats.h"

namespace approx {

// Rounds of repetitions follow one another until a case has `min_samples` and is no noisier than
// `max_noise`, or until that is given up: after `timeout`, or after five rounds where there is
// none.
struct BenchEffort {
  int64_t repetitions = 20;                              // of each case, in a round
  Nanoseconds min_time = std::chrono::milliseconds(20);  // of a repetition
  int64_t min_samples = 2;                               // pairs
  double max_noise = 5;                                  // half width of the interval in percent
  Nanoseconds timeout{0};                                // of a pair of cases; 0: none
};

// A case and how often it is called in one repetition.
struct TimedCase {
  const KernelCase* kernel = nullptr;
  int64_t calls = 1;
};

// So many calls that a repetition takes as long as it should, flushes of the caches included. Warms
// caches up, where calls are to find them warm.
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
  // Which criteria were given up, with what was reached: "--max-noise 1: ±3.2 % after 100 pairs".
  std::vector<std::string> unmet = {};
};

// One case against another, for as long as the noise asks for. Throws Error.
PairTimes measure_pairs(const KernelCase& baseline, const KernelCase& kernel,
                        const BenchEffort& effort);

// "faster", "slower", "same", "ambiguous"
const char* verdict_of(const Ratio& ratio);

// Nanoseconds of a call of something that is no case.
double median_time(const std::function<void()>& work, int64_t repetitions);

}  // namespace approx
