#include "cli/bench/pairs.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "base/error.h"

namespace approx {
namespace {

using ::testing::HasSubstr, ::testing::SizeIs;

TimedCase timed(const KernelCase& kernel) { return {&kernel, 3}; }

TEST(Pairs, CallsAreStartedTogetherAndWaitedForOnce) {
  std::string calls;
  KernelCase kernel;
  kernel.run = [&] { calls += 'r'; };
  kernel.wait = [&] { calls += 'w'; };
  EXPECT_THAT(times_of({timed(kernel)}, 2), SizeIs(1));
  EXPECT_EQ(calls, "rrrwrrrw");
}

// What a device does while it is held back says nothing of a kernel: neither the repetition nor the
// one that it is compared with counts.
TEST(Pairs, ARepetitionInWhichTheDeviceWasHeldBackIsMeasuredAgain) {
  int64_t asked = 0, runs = 0;
  KernelCase a, b;
  a.run = b.run = [&] { ++runs; };
  a.slowed_by = b.slowed_by = [&]() -> std::vector<std::string> {
    if (++asked == 2) return {"heat"};
    return {};
  };
  const auto times = times_of({timed(a), timed(b)}, 4);
  EXPECT_THAT(times[0], SizeIs(4));
  EXPECT_THAT(times[1], SizeIs(4));
  EXPECT_EQ(runs, 5 * 2 * 3);
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
