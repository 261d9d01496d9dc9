#include "cli/process/core_waits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace approx {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

TEST(CoreWaits, ReadsTheSecondOfThreeNumbers) {
  EXPECT_EQ(waited_in("91426 115941 2\n"), nanoseconds(115941));
  EXPECT_EQ(waited_in("7000000000000 0 12"), nanoseconds(0));
  EXPECT_EQ(waited_in("0 0 1\n"), nanoseconds(0));
}

TEST(CoreWaits, NothingWhereTheKernelDoesNotCount) {
  for (const char* text : {"", "0 0 0\n", "1 2", "a b c", "-1 -2 -3", "91426 x 2"}) {
    EXPECT_EQ(waited_in(text), std::nullopt) << text;
  }
  EXPECT_EQ(read_core_waits("/proc/self/there is no such folder"), std::nullopt);
}

TEST(CoreWaits, OfAllThreadsOfAFolder) {
  const fs::path tasks = fs::temp_directory_path() / ("core-waits-" + std::to_string(::getpid()));
  for (const char* thread : {"11", "12", "13", "other"}) fs::create_directories(tasks / thread);
  std::ofstream(tasks / "11/schedstat") << "100 20 3\n";
  std::ofstream(tasks / "12/schedstat") << "100 50 3\n";
  std::ofstream(tasks / "other/schedstat") << "100 70 3\n";  // 13 has just ended
  EXPECT_EQ(read_core_waits(tasks), (CoreWaits{{11, nanoseconds(20)}, {12, nanoseconds(50)}}));
  std::ofstream(tasks / "11/schedstat") << "0 0 0\n";
  std::ofstream(tasks / "12/schedstat") << "0 0 0\n";
  std::ofstream(tasks / "other/schedstat") << "0 0 0\n";
  EXPECT_EQ(read_core_waits(tasks), std::nullopt);
  fs::remove_all(tasks);
}

TEST(CoreWaits, TheLongestWaitIsOfOneThread) {
  const CoreWaits before = {{1, nanoseconds(1000)}, {2, nanoseconds(5)}, {3, nanoseconds(900)}};
  const CoreWaits after = {{1, nanoseconds(1010)}, {2, nanoseconds(45)}, {4, nanoseconds(30)}};
  EXPECT_EQ(longest_wait(before, after), nanoseconds(40));
  EXPECT_EQ(longest_wait(before, before), nanoseconds(0));
  EXPECT_EQ(longest_wait({}, after), nanoseconds(1010));
}

TEST(CpuTimes, AllAndWhatTheHostTookOfEach) {
  const CpuTimes times = cpu_times(
      "cpu  118036 100 17350 70262 716 10 181 236 7 8\n"
      "cpu0 56757 0 7020 39290 199 0 12 116 0 0\n"
      "cpu11 61278 0 10330 30972 516 0 169 120 0 0\n"
      "intr 703917 0 0\nctxt 5\n",
      100);
  EXPECT_DOUBLE_EQ(times.busy_s, 1e-2 * (118036 + 100 + 17350 + 10 + 181 + 236));
  EXPECT_EQ(times.stolen_s, (std::map<int, double>{{0, 1.16}, {11, 1.2}}));
  EXPECT_EQ(cpu_times("", 100).busy_s, 0);
  EXPECT_EQ(cpu_times("cpu 100 0\n", 100).busy_s, 1);  // an old kernel has fewer
}

}  // namespace
}  // namespace approx
