#include "cli/bench/pairs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace approx {
namespace {

using ::testing::HasSubstr, ::testing::SizeIs;

TimedCase timed(const KernelCase& kernel) { return {&kernel, 3}; }

BenchEffort effort(int64_t repetitions) {
  BenchEffort effort;
  effort.repetitions = repetitions;
  effort.min_time = Nanoseconds(1);  // one call a repetition
  return effort;
}

TEST(Pairs, CallsAreStartedTogetherAndWaitedForOnce) {
  std::string calls;
  KernelCase kernel;
  kernel.run = [&] { calls += 'r'; };
  kernel.wait = [&] { calls += 'w'; };
  EXPECT_THAT(times_of({timed(kernel)}, 2).ns, SizeIs(1));
  EXPECT_EQ(calls, "rrrwrrrw");
}

// What a device does while it is held back says nothing of a kernel. Neither the repetition counts
// nor its neighbour in the opposite order.
TEST(Pairs, ARepetitionInWhichTheDeviceWasHeldBackIsMeasuredAgain) {
  int64_t asked = 0, runs = 0;
  KernelCase a, b;
  a.run = b.run = [&] { ++runs; };
  a.slowed_by = b.slowed_by = [&]() -> std::vector<std::string> {
    if (++asked == 2) return {"heat"};
    return {};
  };
  const auto times = times_of({timed(a), timed(b)}, 4);
  EXPECT_THAT(times.ns[0], SizeIs(4));
  EXPECT_THAT(times.ns[1], SizeIs(4));
  EXPECT_EQ(runs, 6 * 2 * 3);
  EXPECT_EQ(times.held_back, (std::map<std::string, int64_t>{{"heat", 2}}));
  EXPECT_THAT(times.clock_mhz[0], SizeIs(0)) << "not known";
}

// As a block of a training: the mean of the clocks before and after.
TEST(Pairs, ARepetitionKnowsItsClock) {
  double mhz = 900;
  KernelCase a, b;
  a.run = b.run = [] {};
  a.clock_mhz = b.clock_mhz = [&] { return std::optional(mhz += 100); };
  const auto times = times_of({timed(a), timed(b)}, 3);
  ASSERT_THAT(times.clock_mhz[0], SizeIs(3));
  ASSERT_THAT(times.clock_mhz[1], SizeIs(3));
  std::vector<double> all = times.clock_mhz[0];
  all.insert(all.end(), times.clock_mhz[1].begin(), times.clock_mhz[1].end());
  std::ranges::sort(all);
  EXPECT_EQ(all, (std::vector<double>{1050, 1150, 1250, 1350, 1450, 1550}));
  const auto pairs = measure_pairs(a, b, effort(4));
  EXPECT_EQ(pairs.clock_mhz.size(), pairs.ns.size());
  EXPECT_EQ(pairs.baseline_clock_mhz.size(), pairs.ns.size());
}

TEST(Pairs, AClockThatIsNotKnownOnceIsLeftOut) {
  int64_t asked = 0;
  KernelCase kernel;
  kernel.run = [] {};
  kernel.clock_mhz = [&] { return ++asked == 3 ? std::nullopt : std::optional(1000.0); };
  EXPECT_THAT(times_of({timed(kernel)}, 5).clock_mhz[0], SizeIs(0));
}

TEST(Pairs, ADeviceThatIsAlwaysHeldBackIsNotMeasured) {
  KernelCase kernel;
  kernel.run = [] {};
  kernel.slowed_by = [] { return std::vector<std::string>{"heat", "the power supply"}; };
  try {
    times_of({timed(kernel)}, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("heat, the power supply"));
  }
}

// A case that takes what it is told, call after call.
KernelCase told(std::vector<double> ns) {
  KernelCase kernel;
  kernel.run = [] { FAIL() << "a cold call is made by cold_ns"; };
  kernel.cold_ns = [ns, next = size_t{0}]() mutable { return ns[next++ % ns.size()]; };
  return kernel;
}

TEST(Pairs, AColdCallSaysItselfHowLongItTook) {
  const auto kernel = told({100, 200, 300});
  const auto times = times_of({timed(kernel)}, 2);
  EXPECT_NEAR(times.ns[0][0], 200, 1e-6);
  EXPECT_NEAR(times.ns[0][1], 200, 1e-6);
}

TEST(Pairs, ACaseIsCalledForTheTimeOfItsWarmUp) {
  int64_t calls = 0;
  KernelCase kernel;
  kernel.run = [&] { ++calls; };
  BenchEffort effort;
  effort.min_time = Nanoseconds(1);
  EXPECT_EQ(timed_case(kernel, effort).calls, 1);
  EXPECT_EQ(calls, 3) << "unless told";
  effort.warmup = std::chrono::milliseconds(20);
  const auto begin = std::chrono::steady_clock::now();
  timed_case(kernel, effort);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, effort.warmup);
  EXPECT_GT(calls, 100);
}

// The order of the cases is drawn for every two repetitions, and reversed in the second.
TEST(Pairs, TheOrderIsDrawnAndReversed) {
  std::string calls;
  std::vector<KernelCase> cases(4);
  std::vector<TimedCase> timed_cases;
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].run = [&calls, i] { calls += static_cast<char>('a' + i); };
    timed_cases.push_back({&cases[i], 1});
  }
  times_of(timed_cases, 40);
  ASSERT_EQ(calls.size(), 160u);
  std::set<std::string> orders;
  for (size_t at = 0; at < calls.size(); at += 8) {
    const std::string first = calls.substr(at, 4), second = calls.substr(at + 4, 4);
    EXPECT_EQ(std::string(first.rbegin(), first.rend()), second);
    EXPECT_EQ(std::set(first.begin(), first.end()).size(), 4u) << first;
    orders.insert(first);
  }
  EXPECT_GT(orders.size(), 5u) << "of 24, in 20 draws";
}

TEST(Pairs, AVerdictHasALeastEffectAndAReason) {
  const auto told_of = [](double lo, double ratio, double hi, double least) {
    const Ratio measured{.n = 9, .ratio = ratio, .lo = lo, .hi = hi};
    return std::pair<std::string, std::string>(verdict_of(measured, least),
                                               why_ambiguous(measured, least));
  };
  using Told = std::pair<std::string, std::string>;
  EXPECT_EQ(told_of(1.01, 1.03, 1.05, 0.02), (Told{"faster", ""}));
  EXPECT_EQ(told_of(1.01, 1.04, 1.08, 0.05),
            (Told{"ambiguous",
                  "the interval [1.010, 1.080] lies beside 1, and the change is below 5 %"}));
  EXPECT_EQ(told_of(0.97, 1, 1.04, 0.05), (Told{"same", ""}));
  EXPECT_EQ(told_of(0.97, 1, 1.04, 0.02),
            (Told{"ambiguous", "the interval [0.970, 1.040] holds 1 and changes of 2 %"}));
  EXPECT_EQ(verdict_of(Ratio{.n = 1, .ratio = 2}, 0.02), std::string("ambiguous"));
  EXPECT_EQ(why_ambiguous(Ratio{.n = 1, .ratio = 2}, 0.02), "");
}

TEST(Pairs, ThatAreQuietAndManyEnoughEndAfterARound) {
  const auto pairs = measure_pairs(told({100}), told({50}), effort(4));
  EXPECT_THAT(pairs.ns, SizeIs(4));
  EXPECT_THAT(pairs.unmet, SizeIs(0));
  EXPECT_NEAR(pairs.ratio.ratio, 2, 1e-6);
}

TEST(Pairs, RoundsGoOnUntilThereAreSamplesEnough) {
  auto wanted = effort(4);
  wanted.min_samples = 9;
  const auto pairs = measure_pairs(told({100}), told({50}), wanted);
  EXPECT_THAT(pairs.ns, SizeIs(12));
  EXPECT_THAT(pairs.unmet, SizeIs(0));
}

TEST(Pairs, WhatIsGivenUpIsSaidWithWhatWasReached) {
  auto wanted = effort(4);
  wanted.max_noise = 0.5;
  wanted.min_samples = 21;
  const auto noisy = told({100, 300, 150, 90, 220, 70, 400});
  const auto rounds = measure_pairs(told({100}), noisy, wanted);
  EXPECT_THAT(rounds.ns, SizeIs(20)) << "five rounds";
  ASSERT_THAT(rounds.unmet, SizeIs(2));
  EXPECT_EQ(rounds.unmet[0], "--min-samples 21: 20 pairs came about");
  EXPECT_THAT(rounds.unmet[1], HasSubstr("--max-noise 0.5: ±"));
  EXPECT_THAT(rounds.unmet[1], HasSubstr("after 20 pairs"));
  // A limit of time takes the place of one of rounds.
  wanted.timeout = Nanoseconds(1);
  EXPECT_THAT(measure_pairs(told({100}), noisy, wanted).ns, SizeIs(4));
}

TEST(Pairs, WhatKindOfErrorItWasIsKept) {
  const auto kind_of = [](const std::function<void()>& run) {
    KernelCase kernel;
    kernel.run = run;
    try {
      times_of({timed(kernel)}, 2);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kUsage;
  };
  EXPECT_EQ(kind_of([] { throw Error(ErrorKind::kDevice, "lost"); }), ErrorKind::kDevice);
  EXPECT_EQ(kind_of([] { throw std::runtime_error("odd"); }), ErrorKind::kInternal);
}

}  // namespace
}  // namespace approx
