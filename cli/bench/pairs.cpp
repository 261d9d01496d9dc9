// Measured by Google Benchmark as a library. Its own random interleaving shuffles the repetitions
// of all benchmarks together, which keeps drift from one side but leaves no two repetitions that
// belong to each other. A ratio with an interval needs pairs, so each repetition is registered as a
// benchmark of its own, with a number of iterations fixed beforehand.
#include "cli/bench/pairs.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "base/error.h"

namespace approx {
namespace {

using BenchClock = std::chrono::steady_clock;

// Repetitions next to each other, in opposite orders.
constexpr int64_t kMirrored = 2;

// Rounds of repetitions that noise may ask for.
constexpr int kMostRounds = 5;

// What came of a round of benchmarks, by the number of the case and of the repetition.
struct Round {
  std::map<std::string, double> ns;              // of one call
  std::map<std::string, double> clock_mhz;       // where it is known
  std::map<std::string, std::string> held_back;  // by what, where something did
  std::exception_ptr failure;                    // the first
};

std::string benchmark_name(size_t index, int64_t repetition) {
  return fmt::format("{}/{}", index, repetition);
}

// Fills a round, and prints nothing. Hears of each benchmark as soon as it is done.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  // Made right before the round.
  Collector(Round& round, const KernelCase& any) : round_(round), any_(any), clock_mhz_(clock()) {}

  bool ReportContext(const Context& /*context*/) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs) {
      if (run.error_occurred || run.iterations == 0) continue;
      const std::string& name = run.run_name.function_name;
      round_.ns[name] = 1e9 * run.real_accumulated_time / static_cast<double>(run.iterations);
      const auto before = std::exchange(clock_mhz_, clock());
      if (before && clock_mhz_) round_.clock_mhz[name] = (*before + *clock_mhz_) / 2;
      if (!any_.slowed_by) continue;
      const auto reasons = any_.slowed_by();
      if (!reasons.empty()) round_.held_back[name] = fmt::format("{}", fmt::join(reasons, ", "));
    }
  }

 private:
  std::optional<double> clock() const { return any_.clock_mhz ? any_.clock_mhz() : std::nullopt; }

  Round& round_;
  const KernelCase& any_;            // of those on one device
  std::optional<double> clock_mhz_;  // after the last benchmark
};

void run_state(benchmark::State& state, const TimedCase& timed, std::exception_ptr& failure) {
  const KernelCase& kernel = *timed.kernel;
  try {
    if (kernel.cold_ns) {
      for ([[maybe_unused]] auto _ : state) state.SetIterationTime(1e-9 * kernel.cold_ns());
      return;
    }
    int64_t left = timed.calls;
    for ([[maybe_unused]] auto _ : state) {
      kernel.run();
      if (--left == 0 && kernel.wait) kernel.wait();
    }
  } catch (const std::exception& error) {
    if (!failure) failure = std::current_exception();
    state.SkipWithError("");
  }
}

// Throws the failure as an Error.
[[noreturn]] void throw_failure(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kInternal, printable(error.what()));
  }
}

// Repetitions [first, end) of all cases. Throws Error.
Round measured(const std::vector<TimedCase>& cases, int64_t first, int64_t end) {
  Round round;
  benchmark::ClearRegisteredBenchmarks();
  // Drawn, so that what changes in step with the measurement favours no case. Reversed in every
  // second repetition, so that what drifts favours none either.
  static std::mt19937 draws{std::random_device()()};
  std::vector<size_t> order(cases.size());
  std::iota(order.begin(), order.end(), 0);
  for (int64_t repetition = first; repetition < end; ++repetition) {
    if ((repetition - first) % kMirrored == 0) {
      std::ranges::shuffle(order, draws);
    } else {
      std::ranges::reverse(order);
    }
    for (const size_t index : order) {
      auto* registered =
          benchmark::RegisterBenchmark(benchmark_name(index, repetition).c_str(),
                                       [&round, &timed = cases[index]](benchmark::State& state) {
                                         run_state(state, timed, round.failure);
                                       })
              ->Iterations(cases[index].calls);
      // Cold calls say themselves how long they took, without what made them so.
      cases[index].kernel->cold_ns ? registered->UseManualTime() : registered->UseRealTime();
    }
  }
  Collector collector(round, *cases.front().kernel);
  benchmark::RunSpecifiedBenchmarks(&collector);
  if (round.failure) throw_failure(round.failure);
  return round;
}

// What held a device back in a repetition of a round, "" where nothing did.
std::string held_back(const Round& round, size_t cases, int64_t repetition) {
  for (size_t i = 0; i < cases; ++i) {
    const auto found = round.held_back.find(benchmark_name(i, repetition));
    if (found != round.held_back.end()) return found->second;
  }
  return {};
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = BenchClock::now();
  work();
  return std::chrono::duration<double>(BenchClock::now() - begin).count();
}

}  // namespace

TimedCase timed_case(const KernelCase& kernel, const BenchEffort& effort) {
  const auto one = [&] {
    if (kernel.cold_ns) {
      kernel.cold_ns();
      return;
    }
    kernel.run();
    if (kernel.wait) kernel.wait();
  };
  one();
  const auto begin = BenchClock::now();
  double once = std::min(seconds_of(one), seconds_of(one));
  while (BenchClock::now() - begin < effort.warmup) once = std::min(once, seconds_of(one));
  once = std::max(once, 1e-8);
  const double wanted = std::chrono::duration<double>(effort.min_time).count() / once;
  return {&kernel, std::clamp<int64_t>(static_cast<int64_t>(std::ceil(wanted)), 1, 1'000'000)};
}

Repetitions times_of(const std::vector<TimedCase>& cases, int64_t repetitions) {
  Repetitions all{.ns = std::vector<std::vector<double>>(cases.size()),
                  .clock_mhz = std::vector<std::vector<double>>(cases.size())};
  std::string reason;
  int64_t done = 0;  // repetitions, kept or not
  for (int attempt = 0; attempt < kMostRounds; ++attempt) {
    const int64_t missing = repetitions - static_cast<int64_t>(all.ns.front().size());
    if (missing == 0) break;
    const Round round = measured(cases, done, done + missing);
    for (const int64_t end = done + missing; done < end;) {
      const int64_t first = done;
      done = std::min(done + kMirrored, end);
      std::string why;
      for (int64_t at = first; at < done && why.empty(); ++at) {
        why = held_back(round, cases.size(), at);
      }
      if (!why.empty()) {
        reason = why;
        all.held_back[why] += done - first;
        continue;
      }
      for (int64_t at = first; at < done; ++at) {
        for (size_t i = 0; i < cases.size(); ++i) {
          all.ns[i].push_back(round.ns.at(benchmark_name(i, at)));
          const auto clock = round.clock_mhz.find(benchmark_name(i, at));
          if (clock != round.clock_mhz.end()) all.clock_mhz[i].push_back(clock->second);
        }
      }
    }
  }
  if (all.ns.front().empty()) {
    throw Error(ErrorKind::kInternal,
                fmt::format("held back by {} in all of {} repetitions", reason, done));
  }
  // A driver may fail to tell once: a list then belongs to no repetitions.
  for (size_t i = 0; i < cases.size(); ++i) {
    if (all.clock_mhz[i].size() != all.ns[i].size()) all.clock_mhz[i].clear();
  }
  return all;
}

PairTimes measure_pairs(const KernelCase& baseline, const KernelCase& kernel,
                        const BenchEffort& effort) {
  const std::vector<TimedCase> cases = {timed_case(baseline, effort), timed_case(kernel, effort)};
  PairTimes pairs;
  std::vector<double> mirrored;
  const auto begin = BenchClock::now();
  const auto samples = [&] { return static_cast<int64_t>(pairs.ns.size()); };
  const auto is_quiet = [&] { return !pairs.ratio.hi || pairs.noise <= effort.max_noise; };
  const auto is_over = [&](int rounds) {
    return effort.timeout.count() > 0 ? BenchClock::now() - begin >= effort.timeout
                                      : rounds >= kMostRounds;
  };
  const auto append = [](std::vector<double>& to, const std::vector<double>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  int rounds = 0;
  do {
    const auto round = times_of(cases, effort.repetitions);
    append(pairs.baseline_ns, round.ns[0]);
    append(pairs.ns, round.ns[1]);
    append(pairs.baseline_clock_mhz, round.clock_mhz[0]);
    append(pairs.clock_mhz, round.clock_mhz[1]);
    for (const auto& [why, repetitions] : round.held_back) pairs.held_back[why] += repetitions;
    append(mirrored, logs_of_mirrored(round.ns[0], round.ns[1]));
    pairs.ratio = samples() < kPairsToMirror ? ratio_of_pairs(pairs.baseline_ns, pairs.ns)
                                             : ratio_of_mirrored_logs(mirrored);
    pairs.ratio.n = samples();
    pairs.noise = pairs.ratio.hi ? 50 * std::log(*pairs.ratio.hi / *pairs.ratio.lo) : 0;
  } while (!(samples() >= effort.min_samples && is_quiet()) && !is_over(++rounds));
  if (samples() < effort.min_samples) {
    pairs.unmet.push_back(
        fmt::format("--min-samples {}: {} pairs came about", effort.min_samples, samples()));
  }
  if (!is_quiet()) {
    pairs.unmet.push_back(fmt::format("--max-noise {}: ±{:.1f} % after {} pairs", effort.max_noise,
                                      pairs.noise, samples()));
  }
  return pairs;
}

std::string why_ambiguous(const Ratio& ratio, double least_effect) {
  if (!ratio.lo || !ratio.hi || speed_change(ratio, least_effect) != SpeedChange::kUndecided) {
    return "";
  }
  const std::string interval = fmt::format("the interval [{:.3f}, {:.3f}]", *ratio.lo, *ratio.hi);
  if (*ratio.lo > 1 || *ratio.hi < 1) {
    return fmt::format("{} lies beside 1, and the change is below {:g} %", interval,
                       100 * least_effect);
  }
  return fmt::format("{} holds 1 and changes of {:g} %", interval, 100 * least_effect);
}

const char* verdict_of(const Ratio& ratio, double least_effect) {
  switch (speed_change(ratio, least_effect)) {
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
