#include "cli/sweep/observed.h"

#include <gtest/gtest.h>

#include <csignal>

namespace approx {
namespace {

using std::chrono::seconds;

const SweepOptions kLimits{.timeout = seconds(100), .stall_timeout = seconds(4)};

TEST(Observed, OverdueByWhatItsTimesAre) {
  EXPECT_EQ(overdue(kLimits, seconds(100), seconds(4)).why, "");
  const auto late = overdue(kLimits, seconds(101), seconds(0));
  EXPECT_EQ(late.why, "not done after 1 min 40 s (--timeout)");
  EXPECT_FALSE(late.is_silent);
  const auto quiet = overdue(kLimits, seconds(5), seconds(5));
  EXPECT_EQ(quiet.why, "no sign of life for 4.0 s (--stall-timeout)");
  EXPECT_TRUE(quiet.is_silent);
  EXPECT_EQ(overdue({}, seconds(1'000'000), seconds(1'000'000)).why, "");
}

Observed silent() { return {.process = {.signal = SIGKILL}, .overdue = {"no sign of life", true}}; }

TEST(Observed, AStallIsAFailure) {
  const RunEnd end = end_of(silent());
  EXPECT_EQ(end.state, RunState::kFailed);
  EXPECT_EQ(end.error, "no sign of life");
}

TEST(Observed, ATimeLimitCutsARunOff) {
  Observed worker = silent();
  worker.overdue = {"not done after 8.0 s (--timeout)", false};
  EXPECT_EQ(end_of(worker).state, RunState::kTimeout);
}

TEST(Observed, ASilenceWithAPauseInItIsAnInterruption) {
  Observed worker = silent();
  worker.paused = worker.paused_in_silence = seconds(6);
  const RunEnd end = end_of(worker);
  EXPECT_EQ(end.state, RunState::kInterrupted);
  EXPECT_EQ(end.error, "no sign of life, beside a pause of 6.0 s");
}

TEST(Observed, APauseBeforeItsLastWordExcusesNoSilence) {
  Observed worker = silent();
  worker.paused = seconds(6);
  EXPECT_EQ(end_of(worker).state, RunState::kFailed);
}

TEST(Observed, APauseTaintsATiming) {
  Observed worker{.last = {{"event", "final"}, {"state", "finished"}}};
  EXPECT_TRUE(taint_of(worker).empty());
  worker.paused = seconds(6);
  EXPECT_EQ(taint_of(worker), std::vector<std::string>{"its sweep was paused for 6.0 s"});
  worker.last["taint"] = {"heat", "paused for 6.1 s"};  // it knows better
  EXPECT_TRUE(taint_of(worker).empty());
  worker.last["taint"] = {"heat", 5};
  EXPECT_EQ(taint_of(worker).size(), 1U);
}

}  // namespace
}  // namespace approx
