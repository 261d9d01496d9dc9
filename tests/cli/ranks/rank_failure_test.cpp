#include "cli/ranks/rank_failure.h"

#include <gtest/gtest.h>

#include <string_view>

#include "base/text.h"

namespace approx {
namespace {

std::optional<RankFailure> failure_in(Launcher launcher, std::string_view text) {
  LauncherLines lines(launcher);
  for (const auto line : split(text, "\n")) lines.add(line);
  return lines.failure();
}

// What Open MPI 4.1.4 printed.
constexpr std::string_view kRule =
    "--------------------------------------------------------------------------\n";
constexpr std::string_view kAborted =
    "Primary job  terminated normally, but 1 process returned\n"
    "a non-zero exit code. Per user-direction, the job has been aborted.\n";

std::string framed(std::string_view text) {
  return std::string(kRule).append(kAborted).append(kRule).append(kRule).append(text).append(kRule);
}

TEST(RankFailure, MpirunTellsOfASignal) {
  EXPECT_EQ(failure_in(Launcher::kMpirun, framed("mpirun noticed that process rank 1 with PID 0 on "
                                                 "node vm exited on signal 9 (Killed).\n")),
            (RankFailure{.rank = 1, .signal = 9}));
  EXPECT_EQ(failure_in(Launcher::kMpirun,
                       framed("mpirun noticed that process rank 12 with PID 4711 on node a-b.c "
                              "exited on signal 11 (Segmentation fault).\n")),
            (RankFailure{.rank = 12, .signal = 11}));
}

TEST(RankFailure, MpirunTellsOfAnExitCode) {
  EXPECT_EQ(failure_in(Launcher::kMpirun,
                       framed("mpirun detected that one or more processes exited with non-zero "
                              "status, thus causing\nthe job to be terminated. The first process "
                              "to do so was:\n\n  Process name: [[24870,1],2]\n"
                              "  Exit code:    3\n")),
            (RankFailure{.rank = 2, .exit_code = 3}));
}

// What Slurm 22.05 printed.
TEST(RankFailure, SrunTellsOfASignal) {
  EXPECT_EQ(failure_in(Launcher::kSrun,
                       "srun: error: vm: task 1: Killed\n"
                       "srun: launch/slurm: _step_signal: Terminating StepId=1.1\n"
                       "slurmstepd-vm: error: *** STEP 1.1 ON vm CANCELLED AT "
                       "2026-11-24T15:17:30 ***\nsrun: error: vm: task 0: Terminated\n"
                       "srun: Force Terminated StepId=1.1\n"),
            (RankFailure{.rank = 1, .signal = 9}));
  EXPECT_EQ(failure_in(Launcher::kSrun, "srun: error: n1: task 3: Segmentation fault\n"),
            (RankFailure{.rank = 3, .signal = 11}));
  EXPECT_EQ(
      failure_in(Launcher::kSrun, "srun: error: n1: task 3: Segmentation fault (core dumped)\n"),
      (RankFailure{.rank = 3, .signal = 11}));
}

TEST(RankFailure, SrunTellsOfAnExitCodeAndOfMemory) {
  EXPECT_EQ(failure_in(Launcher::kSrun, "srun: error: vm: task 1: Exited with exit code 3\n"),
            (RankFailure{.rank = 1, .exit_code = 3}));
  EXPECT_EQ(failure_in(Launcher::kSrun, "srun: error: vm: tasks 2-3,7: Exited with exit code 5\n"),
            (RankFailure{.rank = 2, .exit_code = 5}));
  EXPECT_EQ(failure_in(Launcher::kSrun, "srun: error: vm: task 0: Out Of Memory\n"),
            (RankFailure{.rank = 0, .out_of_memory = true}));
}

TEST(RankFailure, TheFirstOneCounts) {
  EXPECT_EQ(failure_in(Launcher::kSrun,
                       "srun: error: a: task 1: Aborted\nsrun: error: a: task 0: Terminated\n"),
            (RankFailure{.rank = 1, .signal = 6}));
}

TEST(RankFailure, OtherTextsNameNobody) {
  for (const auto launcher : {Launcher::kMpirun, Launcher::kSrun}) {
    for (const std::string_view text :
         {"", "mpirun: Forwarding signal 10 to job", "srun: got SIGCONT",
          "mpirun noticed that process rank", "mpirun noticed that process rank x on signal 9",
          "mpirun noticed that process rank 1 with PID 0", "  Exit code:    3",
          "  Process name: [[", "  Process name: [[1,1],\n  Exit code: ", "srun: error: ",
          "srun: error: vm: task", "srun: error: vm: task 1", "srun: error: vm: task 1: Napping",
          "srun: error: vm: tasks: Killed",
          "srun: error: Unable to create step for job 1: More processors requested than permitted",
          "srun: error: vm: task 99999999999999999999: Killed"}) {
      EXPECT_FALSE(failure_in(launcher, text)) << text;
    }
  }
}

}  // namespace
}  // namespace approx
