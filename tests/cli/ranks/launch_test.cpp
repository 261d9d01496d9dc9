#include "cli/ranks/launch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/ranks/allocation.h"

namespace approx {
namespace {

std::optional<std::string> variable(const LaunchRequest& request, const std::string& name) {
  for (const auto& variable : launch_environment(request)) {
    if (variable.name == name) return variable.value;
  }
  return "not named";
}

TEST(Launcher, MpirunStartsSoManyRanksHereAndBindsNone) {
  EXPECT_EQ(launch_words({.ranks = 3, .command = {"program", "a b"}}),
            (std::vector<std::string>{"mpirun", "-n", "3", "--host", "localhost:3", "--bind-to",
                                      "none", "program", "a b"}));
}

TEST(Launcher, SrunStartsAStepBesideTheCoordinators) {
  const auto words =
      launch_words({.launcher = Launcher::kSrun, .ranks = 4, .threads = 2, .command = {"program"}});
  EXPECT_EQ(words.front(), "srun");
  EXPECT_EQ(words.back(), "program");
  for (const char* word : {"--ntasks=4", "--cpus-per-task=2", "--overlap", "--mpi=pmix",
                           "--kill-on-bad-exit=1", "--input=all"}) {
    EXPECT_NE(std::ranges::find(words, word), words.end()) << word;
  }
}

TEST(Launcher, MpirunKeepsItsFilesInTheSession) {
  const LaunchRequest request{.session_folder = "/dev/shm/x"};
  EXPECT_EQ(variable(request, "OMPI_MCA_orte_tmpdir_base"), "/dev/shm/x");
  EXPECT_EQ(variable(request, "OMPI_MCA_btl_vader_backing_directory"), "/dev/shm/x");
}

TEST(Launcher, MpirunIsToldWhatThisMachineAllows) {
  EXPECT_EQ(variable({}, "OMPI_ALLOW_RUN_AS_ROOT"), "not named");
  EXPECT_EQ(variable({.as_root = true}, "OMPI_ALLOW_RUN_AS_ROOT"), "1");
  EXPECT_EQ(variable({}, "OMPI_MCA_btl_vader_single_copy_mechanism"), "not named");
  EXPECT_EQ(variable({.single_copy = false}, "OMPI_MCA_btl_vader_single_copy_mechanism"), "none");
  EXPECT_EQ(variable({}, "OMPI_MCA_mpi_yield_when_idle"), "not named");
  EXPECT_EQ(variable({.oversubscribe = true}, "OMPI_MCA_mpi_yield_when_idle"), "1");
}

TEST(Launcher, SrunDoesNotTakeTheCoordinatorsStepForItsOwn) {
  EXPECT_EQ(variable({.launcher = Launcher::kSrun}, "SLURM_NNODES"), std::nullopt);
}

TEST(Allocation, AddsUpItsNodes) {
  EXPECT_EQ(allocated_cpus("2"), 2);
  EXPECT_EQ(allocated_cpus("16(x3),8"), 56);
  for (const char* text : {"", "x", "2(x", "2(x3", "2(x0)", "0", "2,,3", "-1", "(x2)"}) {
    EXPECT_EQ(allocated_cpus(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace approx
