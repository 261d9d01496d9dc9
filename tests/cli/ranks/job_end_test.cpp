#include "cli/ranks/job_end.h"

#include <gtest/gtest.h>

#include <csignal>

namespace approx {
namespace {

Json final_event(const char* state) { return {{"event", "final"}, {"state", state}}; }

Json error_of(const char* message, const char* state = "failed") {
  return {{"event", "error"}, {"kind", 5}, {"message", message}, {"state", state}};
}

Json end_of(const JobSeen& job, const RankLeft& left = {}) {
  return end_of_job(job, [&](int64_t /*rank*/) { return left; });
}

TEST(JobEnd, AResultStandsWhateverCameBehindIt) {
  for (const char* state : {"finished", "diverged"}) {
    const Json last = final_event(state);
    EXPECT_EQ(end_of({.process = {.exit_code = 137},
                      .failure = RankFailure{.rank = 1, .signal = SIGKILL},
                      .last = last}),
              last);
  }
}

TEST(JobEnd, ARankThatIsKilledIsNamed) {
  const JobSeen job{.process = {.exit_code = 137},
                    .failure = RankFailure{.rank = 1, .signal = SIGKILL}};
  const Json end = end_of(job);
  EXPECT_EQ(end["message"], "rank 1 was killed by signal 9 (Killed)");
  EXPECT_EQ(end["state"], "lost");
  EXPECT_EQ(end["signal"], 9);
  EXPECT_EQ(end["rank"], 1);
}

TEST(JobEnd, ACrashIsNoLossAndSaysItsLastLine) {
  const Json end = end_of({.failure = RankFailure{.rank = 2, .signal = SIGSEGV}},
                          {.problem = {}, .last_line = "what it was at"});
  EXPECT_EQ(end["message"], "rank 2 was killed by signal 11 (Segmentation fault): what it was at");
  EXPECT_EQ(end["state"], "failed");
}

// The others only saw that it was gone, or were asked to end by the launcher.
TEST(JobEnd, WhatRankZeroSaysOfAnothersDeathIsNotWhy) {
  for (const Json& last : {error_of("no answer from rank 1"), final_event("interrupted")}) {
    const Json end = end_of({.failure = RankFailure{.rank = 1, .signal = SIGTERM}, .last = last});
    EXPECT_EQ(end["message"], "rank 1 was killed by signal 15 (Terminated)");
  }
  EXPECT_EQ(end_of({.failure = RankFailure{.rank = 3, .out_of_memory = true},
                    .last = error_of("no answer")})["state"],
            "oom");
}

TEST(JobEnd, ARankThatReportsAnErrorIsNamedWithIt) {
  const Json end = end_of({.failure = RankFailure{.rank = 2, .exit_code = 5}},
                          {.problem = error_of("the data are gone"), .last_line = "other"});
  EXPECT_EQ(end["message"], "rank 2: the data are gone");
  EXPECT_EQ(end["kind"], 5);
  EXPECT_EQ(end["state"], "failed");
  EXPECT_EQ(end["rank"], 2);
  EXPECT_EQ(end_of({.failure = RankFailure{.rank = 2, .exit_code = 1}},
                   {.problem = error_of("out of memory", "oom"), .last_line = ""})["state"],
            "oom");
}

TEST(JobEnd, ARankThatOnlyExitsIsNamedWithItsCode) {
  EXPECT_EQ(end_of({.failure = RankFailure{.rank = 1, .exit_code = 3}})["message"],
            "rank 1 exited with code 3");
}

TEST(JobEnd, RankZeroSpeaksForItself) {
  const Json last = error_of("the data are gone");
  EXPECT_EQ(end_of({.failure = RankFailure{.rank = 0, .exit_code = 5}, .last = last}), last);
  EXPECT_EQ(end_of({.failure = RankFailure{.rank = 1, .exit_code = 5}, .last = last}), last);
  const Json stopped = final_event("interrupted");
  EXPECT_EQ(end_of({.process = {.exit_code = 0}, .last = stopped}), stopped);
}

TEST(JobEnd, ARankThatWaitedInVainDoesNotKnowWhy) {
  const Json waited = error_of("rank 2 does not come", "lost");
  EXPECT_EQ(end_of({.failure = RankFailure{.rank = 0, .exit_code = 1}, .last = waited}), waited);
  const Json end = end_of({.failure = RankFailure{.rank = 2, .exit_code = 5}, .last = waited},
                          {.problem = error_of("the data are gone"), .last_line = ""});
  EXPECT_EQ(end["message"], "rank 2: the data are gone");
  EXPECT_EQ(end["state"], "failed");
}

TEST(JobEnd, ALauncherThatEndsSaysHow) {
  Json end = end_of({.launcher = Launcher::kMpirun, .process = {.signal = SIGKILL}});
  EXPECT_EQ(end["message"], "mpirun was killed by signal 9 (Killed)");
  EXPECT_EQ(end["state"], "lost");
  EXPECT_EQ(end["signal"], 9);
  end = end_of({.launcher = Launcher::kSrun, .process = {.exit_code = 1}, .said = "no such thing"});
  EXPECT_EQ(end["message"], "srun exited with code 1 and no rank reported an end: no such thing");
  EXPECT_EQ(end["state"], "failed");
}

}  // namespace
}  // namespace approx
