#include "core/train/block_timer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace approx {
namespace {

using ::testing::ElementsAre;

MachineState share(double core_share) { return {.core_share = core_share}; }

MachineState at_ghz(double ghz) { return {.core_share = 1.0, .clock_mhz = 1e3 * ghz}; }

// A GPU whose driver names reasons, or none.
MachineState gpu(std::vector<std::string> slowed_by, double mhz = 1980) {
  return {.clock_mhz = mhz, .slowed_by = std::move(slowed_by)};
}

// A machine whose probe shows `states` in turn, then the last of them for ever; counts what is
// asked of it.
struct Machine {
  explicit Machine(std::vector<MachineState> states) : states(std::move(states)) {}

  std::vector<MachineState> states;
  size_t probes = 0;
  int pauses = 0, works = 0;
  std::atomic<bool> stop = false;

  BlockTimer timer(int64_t blocks) {
    return {[this] { return states[std::min(probes++, states.size() - 1)]; }, blocks, stop,
            [this] { ++pauses; }};
  }
  // A block takes as many nanoseconds as there were blocks.
  int64_t work() { return ++works; }
  TimedBlock time(BlockTimer& timer) {
    return timer.time([this] { return work(); });
  }
};

TEST(BlockTimer, ABlockOnCoresOfItsOwnIsTimedOnce) {
  Machine machine({share(1.0), share(0.97), share(0.8)});
  auto timer = machine.timer(2);
  EXPECT_EQ(machine.time(timer).ns, 1);
  const TimedBlock second = machine.time(timer);
  EXPECT_EQ(second.ns, 2);
  EXPECT_EQ(second.repeats, 0);
  EXPECT_DOUBLE_EQ(*second.core_share, 0.8) << "the smaller of before and after";
  EXPECT_FALSE(second.clock_mhz);
  EXPECT_FALSE(second.is_disturbed);
  EXPECT_EQ(machine.probes, 3u) << "the probe after a block is the one before the next";
  EXPECT_EQ(machine.pauses, 0);
  EXPECT_THAT(timer.taints(), ElementsAre());
}

// Both virtual cores come to lie on one physical core during a block and leave it soon after.
TEST(BlockTimer, ABlockThatSharedACoreIsDoneAgain) {
  Machine machine({share(1.0), share(0.51), share(0.55), share(0.99), share(1.0)});
  auto timer = machine.timer(4);
  const TimedBlock block = machine.time(timer);
  EXPECT_EQ(block.ns, 2) << "the first is thrown away";
  EXPECT_EQ(block.repeats, 1);
  EXPECT_DOUBLE_EQ(*block.core_share, 0.99);
  EXPECT_EQ(machine.pauses, 2) << "it waited for a core each before it began again";
  EXPECT_THAT(timer.taints(), ElementsAre());
}

TEST(BlockTimer, WhereThreadsKeepSharingACoreTheRunIsTainted) {
  Machine machine({share(1.0), share(0.5)});
  auto timer = machine.timer(3);
  std::vector<int64_t> repeats;
  for (int i = 0; i < 3; ++i) {
    const TimedBlock block = machine.time(timer);
    EXPECT_TRUE(block.is_disturbed);
    repeats.push_back(block.repeats);
  }
  // Three for one block, in all no more than there are blocks.
  EXPECT_THAT(repeats, ElementsAre(3, 0, 0));
  EXPECT_EQ(machine.works, 6);
  EXPECT_EQ(machine.pauses, 3) << "nor does it wait more often";
  EXPECT_THAT(
      timer.taints(),
      ElementsAre("its threads shared cores in 3 of 3 blocks (0.50 of a core each at worst)"));
}

// A core that runs at 4 GHz until it is warm, and then at 3.
TEST(BlockTimer, ABlockInWhichTheClockFellIsDoneAgain) {
  Machine machine({at_ghz(4.0), at_ghz(3.9), at_ghz(3.0), at_ghz(3.1)});
  auto timer = machine.timer(4);
  const TimedBlock first = machine.time(timer);
  EXPECT_DOUBLE_EQ(*first.clock_mhz, 3950) << "the mean of before and after";
  EXPECT_FALSE(first.slowed_by) << "no driver tells";
  const TimedBlock block = machine.time(timer);
  EXPECT_EQ(block.ns, 3);
  EXPECT_EQ(block.repeats, 1);
  EXPECT_DOUBLE_EQ(*block.clock_mhz, 3050);
  EXPECT_EQ(machine.pauses, 0) << "a clock that changed is not waited for: it may stay so";
  EXPECT_THAT(timer.taints(), ElementsAre());
}

TEST(BlockTimer, AClockThatIsLowAllTheTimeDisturbsNothing) {
  Machine machine({at_ghz(0.8)});
  auto timer = machine.timer(2);
  EXPECT_EQ(machine.time(timer).repeats, 0);
  EXPECT_THAT(timer.taints(), ElementsAre());
}

TEST(BlockTimer, AClockThatKeepsChangingTaintsTheRun) {
  Machine machine({at_ghz(4.0), at_ghz(3.2), at_ghz(4.0), at_ghz(3.0), at_ghz(3.9), at_ghz(3.9)});
  auto timer = machine.timer(1);
  const TimedBlock block = machine.time(timer);
  // As often as there are blocks.
  EXPECT_EQ(block.repeats, 1);
  EXPECT_TRUE(block.is_disturbed);
  machine.time(timer);
  EXPECT_THAT(timer.taints(), ElementsAre("its clock changed in 2 of 2 blocks (from 4.00 to 3.00 "
                                          "GHz at worst)"));
}

// The driver of a GPU says what matters: clocks of a GPU change with what it does.
TEST(BlockTimer, WhereADriverTellsItIsBelievedAndClocksAreNot) {
  Machine machine({gpu({}, 345), gpu({}, 1980), gpu({"heat"}, 1900), gpu({"heat"}), gpu({})});
  auto timer = machine.timer(4);
  EXPECT_EQ(machine.time(timer).repeats, 0);
  const TimedBlock block = machine.time(timer);
  EXPECT_EQ(block.repeats, 1);
  EXPECT_EQ(machine.pauses, 2) << "heat is waited for to pass";
  EXPECT_FALSE(block.core_share);
  EXPECT_DOUBLE_EQ(*block.clock_mhz, 1980);
  EXPECT_EQ(block.slowed_by, "") << "of the block that counts";
  EXPECT_THAT(timer.taints(), ElementsAre());
}

TEST(BlockTimer, AGpuThatIsHeldBackToTheEndTaintsTheRun) {
  Machine machine({gpu({}), gpu({"heat", "the power supply"})});
  auto timer = machine.timer(2);
  EXPECT_EQ(machine.time(timer).slowed_by, "heat, the power supply");
  EXPECT_EQ(machine.time(timer).slowed_by, "heat, the power supply") << "each reason once";
  EXPECT_THAT(timer.taints(), ElementsAre("heat held it back in 2 of 2 blocks",
                                          "the power supply held it back in 2 of 2 blocks"));
}

TEST(BlockTimer, NothingIsDoneAgainOnceItIsToStop) {
  Machine machine({share(1.0), share(0.5)});
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
  EXPECT_FALSE(block.clock_mhz);
  EXPECT_FALSE(block.is_disturbed);
  EXPECT_THAT(timer.taints(), ElementsAre());
}

}  // namespace
}  // namespace approx
