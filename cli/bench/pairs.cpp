// Measured by Google Benchmark as a library. Its own random interleaving shuffles the repetitions
// of all benchmarks together, which keeps drift from one side but leaves no two repetitions that
// belong to each other. A ratio with an interval needs pairs, so each repetition is registered as a
// benchmark of its own, in alternating order (exact, approximated; approximated, exact; ...), with
// a number of iterations fixed beforehand.
#include "cli/bench/pairs.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>

#include "base/error.h"

namespace approx {
namespace {

using BenchClock = std::chrono::steady_clock;

// Rounds of repetitions that noise may ask for.
constexpr int kMostRounds = 5;

// Keeps the time of each benchmark by its name, and prints nothing.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs) {
      const std::string& name = run.run_name.function_name;
      if (run.error_occurred) {
        errors[name] = run.error_message;
      } else if (run.iterations > 0) {
        ns[name] = 1e9 * run.real_accumulated_time / static_cast<double>(run.iterations);
      }
    }
  }

  std::map<std::string, double> ns;  // of one iteration
  std::map<std::string, std::string> errors;
};

void run_state(benchmark::State& state, const std::function<void()>& work) {
  try {
    for ([[maybe_unused]] auto _ : state) work();
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = BenchClock::now();
  work();
  return std::chrono::duration<double>(BenchClock::now() - begin).count();
}

std::string benchmark_name(size_t index, int64_t repetition) {
  return fmt::format("{}/{}", index, repetition);
}

}  // namespace

TimedCase timed_case(const KernelCase& kernel, const BenchEffort& effort) {
  kernel.run();
  const double once = std::max(std::min(seconds_of(kernel.run), seconds_of(kernel.run)), 1e-8);
  const double wanted = std::chrono::duration<double>(effort.min_time).count() / once;
  return {&kernel, std::clamp<int64_t>(static_cast<int64_t>(std::ceil(wanted)), 1, 1'000'000)};
}

std::vector<std::vector<double>> times_of(const std::vector<TimedCase>& cases,
                                          int64_t repetitions) {
  benchmark::ClearRegisteredBenchmarks();
  for (int64_t repetition = 0; repetition < repetitions; ++repetition) {
    for (size_t i = 0; i < cases.size(); ++i) {
      const size_t index = repetition % 2 == 0 ? i : cases.size() - 1 - i;
      benchmark::RegisterBenchmark(benchmark_name(index, repetition).c_str(), run_state,
                                   cases[index].kernel->run)
          ->Iterations(cases[index].calls)
          ->UseRealTime();
    }
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  if (!collector.errors.empty()) {
    throw Error(ErrorKind::kInternal, printable(collector.errors.begin()->second));
  }
  std::vector<std::vector<double>> times(cases.size());
  for (int64_t repetition = 0; repetition < repetitions; ++repetition) {
    for (size_t i = 0; i < cases.size(); ++i) {
      times[i].push_back(collector.ns.at(benchmark_name(i, repetition)));
    }
  }
  return times;
}

PairTimes measure_pairs(const KernelCase& baseline, const KernelCase& kernel,
                        const BenchEffort& effort) {
  const std::vector<TimedCase> cases = {timed_case(baseline, effort), timed_case(kernel, effort)};
  PairTimes pairs;
  for (int round = 0; round < kMostRounds; ++round) {
    const auto times = times_of(cases, effort.repetitions);
    pairs.baseline_ns.insert(pairs.baseline_ns.end(), times[0].begin(), times[0].end());
    pairs.ns.insert(pairs.ns.end(), times[1].begin(), times[1].end());
    pairs.ratio = ratio_of_pairs(pairs.baseline_ns, pairs.ns);
    pairs.noise = pairs.ratio.hi ? 50 * std::log(*pairs.ratio.hi / *pairs.ratio.lo) : 0;
    if (!pairs.ratio.hi || pairs.noise <= effort.max_noise) break;
  }
  return pairs;
}

const char* verdict_of(const Ratio& ratio) {
  switch (speed_change(ratio)) {
    case SpeedChange::kFaster:
      return "faster";
    case SpeedChange::kSlower:
      return "slower";
    case SpeedChange::kSame:
      return "same";
    case SpeedChange::kUndecided:
      break;
  }
  return "ambiguous";
}

double median_time(const std::function<void()>& work, int64_t repetitions) {
  work();
  std::vector<double> times;
  for (int64_t i = 0; i < repetitions; ++i) times.push_back(1e9 * seconds_of(work));
  return quantile(std::move(times), 0.5);
}

}  // namespace approx
