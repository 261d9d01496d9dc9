#include "core/train/core_probe.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/probe/fma.h"

namespace approx {
namespace {

// A machine whose probe shows `shares` in turn, then the last of them for ever; counts what is
// asked of it.
struct Machine {
  explicit Machine(std::vector<double> shares) : shares(std::move(shares)) {}

  std::vector<double> shares;
  size_t probes = 0;
  int pauses = 0, works = 0;
  std::atomic<bool> stop = false;

  BlockTimer timer(int64_t blocks) {
    return {[this] { return shares[std::min(probes++, shares.size() - 1)]; }, blocks, stop,
            [this] { ++pauses; }};
  }
  // A block takes as many nanoseconds as there were blocks.
  int64_t work() { return ++works; }
  TimedBlock time(BlockTimer& timer) {
    return timer.time([this] { return work(); });
  }
};

TEST(BlockTimer, ABlockOnCoresOfItsOwnIsTimedOnce) {
  Machine machine({1.0, 0.97, 0.8});
  auto timer = machine.timer(2);
  EXPECT_EQ(machine.time(timer).ns, 1);
  const TimedBlock second = machine.time(timer);
  EXPECT_EQ(second.ns, 2);
  EXPECT_EQ(second.repeats, 0);
  EXPECT_DOUBLE_EQ(*second.core_share, 0.8) << "the smaller of before and after";
  EXPECT_EQ(machine.probes, 3u) << "the probe after a block is the one before the next";
  EXPECT_EQ(machine.pauses, 0);
  EXPECT_EQ(timer.taint(), "");
}

// Both virtual cores come to lie on one physical core during a block and leave it soon after.
TEST(BlockTimer, ABlockThatSharedACoreIsDoneAgain) {
  Machine machine({1.0, 0.51, 0.55, 0.99, 1.0});
  auto timer = machine.timer(4);
  const TimedBlock block = machine.time(timer);
  EXPECT_EQ(block.ns, 2) << "the first is thrown away";
  EXPECT_EQ(block.repeats, 1);
  EXPECT_DOUBLE_EQ(*block.core_share, 0.99);
  EXPECT_EQ(machine.pauses, 2) << "it waited for a core each before it began again";
  EXPECT_EQ(timer.taint(), "");
}

TEST(BlockTimer, WhereThreadsKeepSharingACoreTheRunIsTainted) {
  Machine machine({1.0, 0.5});
  auto timer = machine.timer(3);
  std::vector<int64_t> repeats;
  for (int i = 0; i < 3; ++i) repeats.push_back(machine.time(timer).repeats);
  // Three for one block, in all no more than there are blocks.
  EXPECT_EQ(repeats, (std::vector<int64_t>{3, 0, 0}));
  EXPECT_EQ(machine.works, 6);
  EXPECT_EQ(machine.pauses, 3) << "nor does it wait more often";
  EXPECT_EQ(timer.taint(),
            "its threads shared cores in 3 of 3 blocks (0.50 of a core each at worst)");
}

TEST(BlockTimer, NothingIsDoneAgainOnceItIsToStop) {
  Machine machine({1.0, 0.5});
  auto timer = machine.timer(3);
  timer.time([&] {
    machine.stop = true;
    return machine.work();
  });
  EXPECT_EQ(machine.works, 1);
}

TEST(BlockTimer, WithoutAProbeBlocksAreOnlyTimed) {
  const std::atomic<bool> stop = false;
  BlockTimer timer({}, 1, stop);
  const TimedBlock block = timer.time([] { return 7; });
  EXPECT_EQ(block.ns, 7);
  EXPECT_FALSE(block.core_share);
  EXPECT_EQ(timer.taint(), "");
}

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

}  // namespace
}  // namespace approx
