#include "core/train/machine_probe.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/train/block_timer.h"
#include "kernels/probe/clock.h"
#include "kernels/probe/fma.h"

namespace approx {
namespace {

// What the machine gives is not known; that it is a share is.
TEST(FmaProbe, MeasuresAShareOfACore) {
  FmaProbe probe;
  for (int i = 0; i < 3; ++i) {
    const double share = probe();
    EXPECT_GT(share, 1e-3) << "other programs may be at work";
    EXPECT_LT(share, 1.5);
  }
}

// More threads than cores have a part of a core each, and the probe says which.
TEST(FmaProbe, ThreadsWithoutACoreEachAreSeen) {
  const int before = at::get_num_threads();
  at::set_num_threads(4 * static_cast<int>(std::thread::hardware_concurrency()));
  FmaProbe probe;
  EXPECT_LT(probe(), kLeastCoreShare);
  at::set_num_threads(before);
}

// a -> 0.999 a + 0.001 has the fixed point 1, from which a start at i is 0.999^rounds (i - 1) away;
// the vectors' lanes are alike.
TEST(FmaProbe, TheRoundsAreReallyDone) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += 1 + std::pow(0.999, 1000) * (i - 1);
  const double lanes = fma_rounds_simd(0) / 66;  // 0 + 1 + ... + 11
  EXPECT_GE(lanes, 1);
  EXPECT_NEAR(fma_rounds_simd(1000), lanes * sum, 1e-3 * lanes * sum);
}

TEST(FmaProbe, TheCeilingIsAPositiveNumberOfVectorsOfMultiplyAdds) {
  EXPECT_EQ(fma_round_flops_simd() % 24, 0) << "a dozen multiply-adds of two flops, times lanes";
  EXPECT_GE(fma_round_flops_simd(), 24);
  const double ceiling = FmaProbe().ceiling();
  EXPECT_TRUE(std::isfinite(ceiling));
  EXPECT_GT(ceiling, 1e6) << "no machine that runs this is so slow";
}

// No processor is ten times faster or slower than those that run this.
TEST(CoreClock, IsAClock) {
  const double hz = core_clock_hz();
  EXPECT_GT(hz, 1e8) << "valgrind and emulators, too";
  EXPECT_LT(hz, 2e10) << "were the additions not made one after the other, or left out";
}

TEST(MachineProbe, OfTheProcessorTellsSharesAndItsClock) {
  const MachineState state = cpu_probe()();
  ASSERT_TRUE(state.core_share && state.clock_mhz);
  EXPECT_GT(*state.core_share, 1e-3);
  EXPECT_GT(*state.clock_mhz, 100);
  EXPECT_FALSE(state.slowed_by) << "no driver tells";
}

TEST(MachineProbe, OfAGpuTellsWhatItsDriverSays) {
  const auto library =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("fake_nvml.so");
  setenv("FAKE_NVML_REASONS", "0x20", 1);
  const auto probe = gpu_probe(GpuMonitor::open("0000:3b:00.0", library.string()));
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe().slowed_by, std::vector<std::string>{"heat"});
  EXPECT_EQ(probe().clock_mhz, 1200);
  EXPECT_FALSE(probe().core_share);
  setenv("FAKE_NVML_REASONS", "0x0", 1);
  EXPECT_EQ(probe().slowed_by, std::vector<std::string>{});
}

TEST(MachineProbe, WithoutADriverThereIsNone) { EXPECT_FALSE(gpu_probe(nullptr)); }

}  // namespace
}  // namespace approx
