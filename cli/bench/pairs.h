// Times of kernel cases, measured side by side.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/text.h"
#include "core/engine/engine.h"
#include "results/stats/stats.h"

namespace approx {

// The effort for a case. Rounds of repetitions follow until it has `min_samples` pairs and is no
// noisier than `max_noise`. It is given up after `timeout`, or after five rounds without one.
struct BenchEffort {
  int64_t repetitions = 20;                              // of each case in a round
  Nanoseconds min_time = std::chrono::milliseconds(20);  // of a repetition
  int64_t min_samples = 2;                               // in pairs
  double max_noise = 5;                                  // half width of the interval, in percent
  Nanoseconds timeout{0};                                // for a pair of cases; 0: none
  double least_effect = kLeastEffect;                    // smaller changes get no verdict
  Nanoseconds warmup{0};  // least time of a case's calls before it is measured
};

// A case and the number of its calls in one repetition.
struct TimedCase {
  const KernelCase* kernel = nullptr;
  int64_t calls = 1;
};

// Chooses the number of calls so that a repetition takes `min_time`, cache flushes included. Makes
// at least three calls, and calls for `warmup`: caches and clocks are then as in the measurement.
TimedCase timed_case(const KernelCase& kernel, const BenchEffort& effort);

// The measurements of repetitions of cases.
struct Repetitions {
  std::vector<std::vector<double>> ns;  // of one call, by case and repetition
  // The clock of the device, the mean of before and after: likewise. Empty lists if it is not
  // known.
  std::vector<std::vector<double>> clock_mhz;
  // The number of repetitions that were left out because the device was held back, by what.
  std::map<std::string, int64_t> held_back;
};

// Measures so many repetitions of each case. The cases of a repetition are measured
// next to each other. Their order is drawn for every two repetitions and reversed in the second.
// The calls are started one after the other and waited for together, like those of a training step.
// Two such repetitions are measured again, a few times, if a device is throttled at the end of one.
// If it stays so, both are left out. Throws Error, also if none is left.
Repetitions times_of(const std::vector<TimedCase>& cases, int64_t repetitions);

struct PairTimes {
  std::vector<double> baseline_ns, ns;  // the i-th of both are measured next to each other
  std::vector<double> baseline_clock_mhz, clock_mhz;  // likewise; empty if it is not known
  std::map<std::string, int64_t> held_back;           // as of Repetitions
  Ratio ratio;       // baseline over the other, by ratio_of_mirrored(): above 1 is faster
  double noise = 0;  // half width of its interval, in percent
  // The criteria that were given up, with the values reached: "--max-noise 1: ±3.2 % after 100
  // pairs".
  std::vector<std::string> unmet = {};
};

// Measures one case against another until the noise is low enough. Throws Error.
PairTimes measure_pairs(const KernelCase& baseline, const KernelCase& kernel,
                        const BenchEffort& effort);

// The verdict on a ratio: "faster", "slower", "same", "ambiguous".
const char* verdict_of(const Ratio& ratio, double least_effect);

// Why a ratio with an interval is ambiguous: "the interval [0.97, 1.05] holds 1 and more than 2 %".
// "" for any other verdict.
std::string why_ambiguous(const Ratio& ratio, double least_effect);

// The median time of a call in nanoseconds, for work that is not a kernel case.
double median_time(const std::function<void()>& work, int64_t repetitions);

}  // namespace approx
