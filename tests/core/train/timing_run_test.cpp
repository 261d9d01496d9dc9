// Which blocks a timing run has, what it reports of them, and when its two networks are not timed
// alike.
#include "core/train/timing_run.h"

#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/train/block_order.h"
#include "tests/core/train/operators.h"
#include "tests/core/train/toy_events.h"
#include "tests/testing.h"

namespace approx {
namespace {

// What StepGraphs reports of steps that a device records, or refuses to.
GraphReport report_of_steps(bool can_be_captured) {
  class Recorder final : public StepRecorder {
   public:
    explicit Recorder(bool can_record) : can_record_(can_record) {}
    std::unique_ptr<RecordedStep> record(const std::function<void()>& step) override {
      struct Recorded final : RecordedStep {
        void replay() override {}
      };
      if (!can_record_) throw std::runtime_error("out of memory");
      step();
      return std::make_unique<Recorded>();
    }

   private:
    bool can_record_;
  };
  StepGraphs graphs(std::make_unique<Recorder>(can_be_captured), at::kCPU, {});
  for (int step = 0; step < 5; ++step) graphs.run({}, "", [] {});
  graphs.run({}, "waits for how many pairs its draws take", [] {});
  return graphs.report();
}

TEST(TimingRun, OfNetworksOfWhichOneAloneCouldNotBeCapturedSaysSo) {
  const auto captured = report_of_steps(true), failed = report_of_steps(false);
  EXPECT_EQ(captured_unlike(captured, failed),
            "not timed alike: steps of the approximated network alone could not be captured: out "
            "of memory");
  EXPECT_EQ(captured_unlike(failed, captured),
            "not timed alike: steps of the exact network alone could not be captured: out of "
            "memory");
  EXPECT_EQ(captured_unlike(captured, captured), std::nullopt);
  EXPECT_EQ(captured_unlike(failed, failed), std::nullopt);
  EXPECT_EQ(captured_unlike(std::nullopt, std::nullopt), std::nullopt) << "a CPU";
  // Both without graphs, for a reason that is not the device's.
  const GraphReport none{.steps = {{"it was built without CUDA", 8}}};
  EXPECT_EQ(captured_unlike(none, none), std::nullopt);
  // What the words for a step begin with decides nothing.
  const GraphReport worded{.steps = {{"could not be captured: words alone", 8}}};
  EXPECT_EQ(captured_unlike(captured, worded), std::nullopt);
}

TEST(TimingRun, RefusesAScheduleThatItDoesNotComeBy) {
  auto config = toy_config("zero", "slice:until=0.5dur");
  config.purpose = Purpose::kTiming;
  try {
    events_of(config);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("until = \"0.5dur\""), std::string::npos);
  }
}

TEST(TimingRun, AlternatesWholePeriodsOfBothNetworks) {
  auto config = toy_config("zero", "slice:steps=::4");
  config.purpose = Purpose::kTiming;
  config.blocks = 6;
  config.block_steps = 5;
  const auto events = events_of(config);
  const auto blocks = of_kind(events, "block");
  ASSERT_EQ(blocks.size(), 12u);
  int dense_first = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i]["pair"], i / 2);
    EXPECT_EQ(blocks[i]["order"], i % 2);
    EXPECT_EQ(blocks[i]["steps"], 8);  // five, rounded up to two periods
    EXPECT_GT(blocks[i]["ns"].get<int64_t>(), 0);
    dense_first += i % 2 == 0 && blocks[i]["arm"] == "dense";
    if (i % 2 == 1) {
      EXPECT_NE(blocks[i]["arm"], blocks[i - 1]["arm"]);
    }
  }
  EXPECT_GT(dense_first, 0);
  EXPECT_LT(dense_first, 6);
  EXPECT_EQ(events.back()["state"], "finished");
}

// A timing run whose probe shows `shares` in turn, then cores of its own.
std::vector<Json> probed_events(std::vector<double> shares) {
  auto config = toy_config("zero", "slice:steps=::2");
  config.purpose = Purpose::kTiming;
  config.blocks = 2;
  config.block_steps = 2;
  const auto dataset = toy_dataset();
  std::vector<Json> events;
  std::atomic<bool> stop = false;
  size_t probes = 0;
  run_timing(
      config, dataset, [&](const Json& event) { events.push_back(event); }, stop,
      [&] {
        const double share = probes < shares.size() ? shares[probes++] : 1.0;
        return MachineState{.core_share = share, .clock_mhz = 3000};
      });
  return events;
}

TEST(TimingRun, ABlockWhoseThreadsSharedACoreIsTimedAgain) {
  // Before the first block, after the first, after the second: that one is done again.
  const auto events = probed_events({1.0, 1.0, 0.5});
  const auto blocks = of_kind(events, "block");
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[1]["repeats"], 1);
  for (const size_t i : {0, 2, 3}) EXPECT_EQ(blocks[i]["repeats"], 0) << i;
  for (const auto& block : blocks) {
    EXPECT_EQ(block["core_share"], 1.0);
    EXPECT_EQ(block["clock_mhz"], 3000);
  }
  EXPECT_FALSE(events.back().contains("taint"));
}

// Also of what is no block: probes, blocks that were thrown away, phases.
TEST(TimingRun, ItsPartsMakeUpItsTime) {
  const auto events = probed_events({1.0, 1.0, 0.5, 0.5});
  const Json& last = events.back();
  expect_parts_make_up(last);
  EXPECT_GT(last["aside_ns"], 50'000'000) << "the wait for the core";
}

TEST(TimingRun, OneWhoseThreadsKeepSharingACoreSaysSo) {
  const auto events = probed_events(std::vector<double>(500, 0.5));
  EXPECT_EQ(events.back()["state"], "finished");
  EXPECT_EQ(events.back()["taint"],
            Json::array({"its threads shared cores in 4 of 4 blocks (0.50 of a core each at "
                         "worst)"}));
}

// The values of a metric of a timing run, by split in their order.
std::map<std::string, std::vector<double>> timed_metric(const std::vector<Json>& events,
                                                        const std::string& name) {
  std::map<std::string, std::vector<double>> values;
  for (const auto& event : of_kind(events, "metric")) {
    if (event["name"] == name) values[event["split"]].push_back(event["value"]);
  }
  return values;
}

TEST(TimingRun, TimesTheGradientsOfTheConvolutionsInPairs) {
  auto config = toy_config("zero", "slice:layers=1::1,steps=::2");
  config.purpose = Purpose::kTiming;
  config.blocks = 4;
  config.block_steps = 2;
  const auto began = std::chrono::steady_clock::now();
  const auto events = events_of(config);
  const std::chrono::duration<double, std::nano> whole = std::chrono::steady_clock::now() - began;
  const auto backward = timed_metric(events, "backward_ns");
  ASSERT_EQ(backward.size(), 2u);
  double backward_steps = 0;
  for (const char* arm : {"dense", "approx"}) {
    ASSERT_EQ(backward.at(arm).size(), 4u) << "a value a pair, as the blocks";
    for (const double ns : backward.at(arm)) {
      EXPECT_GT(ns, 0);
      backward_steps += 2 * ns;  // a period of the schedule
    }
  }
  EXPECT_LT(backward_steps, whole.count()) << "part of the run, whatever else the machine does";
  // Each pair has a step of its own, by which its two are found.
  std::map<int64_t, int> pairs;
  for (const auto& event : of_kind(events, "metric")) {
    if (event["name"] == "backward_ns") ++pairs[event["step"]];
  }
  EXPECT_EQ(pairs.size(), 4u);
  for (const auto& [at, values] : pairs) EXPECT_EQ(values, 2) << at;
}

// Twenty pairs of blocks, ten of backward passes: they cost time and say as much.
TEST(TimingRun, AtMostTenPairsOfBackwardPasses) {
  auto config = toy_config("zero", "slice");
  config.purpose = Purpose::kTiming;
  config.blocks = 12;
  config.block_steps = 1;
  EXPECT_EQ(timed_metric(events_of(config), "backward_ns").at("dense").size(), 10u);
}

// Before and after the eight blocks of steps, then the second pair of backward passes, whatever is
// tried again.
TEST(TimingRun, BackwardPassesThatSharedACoreAreLeftOutAndTaintNothing) {
  std::vector<double> shares(5, 1.0);     // of the four blocks
  shares.insert(shares.end(), 3, 1.0);    // the first pair
  shares.insert(shares.end(), 100, 0.5);  // the second
  const auto events = probed_events(shares);
  EXPECT_EQ(timed_metric(events, "backward_ns").at("approx").size(), 1u);
  EXPECT_FALSE(events.back().contains("taint"));
}

TEST(TimingRun, TheOrderOfItsBlocksIsBalancedAndNotThatOfItsSeed) {
  std::set<Json> draws;
  for (int run = 0; run < 4; ++run) {
    const auto events = probed_events({});
    draws.insert(events.front()["order_draw"]);
    int dense_first = 0;
    for (const auto& block : of_kind(events, "block")) {
      dense_first += block["order"] == 0 && block["arm"] == "dense";
    }
    EXPECT_EQ(dense_first, 1) << "of two pairs";
  }
  EXPECT_GT(draws.size(), 1u) << "four runs of one seed";
}

TEST(BlockOrder, EveryTwoPairsHaveBothOrders) {
  std::set<std::vector<bool>> orders;
  for (uint64_t draw = 0; draw < 64; ++draw) {
    const auto order = exact_first(7, draw);
    ASSERT_EQ(order.size(), 7u);
    for (size_t pair = 0; pair + 1 < order.size(); pair += 2) {
      EXPECT_NE(order[pair], order[pair + 1]);
    }
    EXPECT_EQ(exact_first(7, draw), order);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 16u) << "all that there are";
}

TEST(TimingRun, ASmallerNetworkIsHeldAgainstALargerOne) {
  auto config = toy_config();
  config.purpose = Purpose::kTiming;
  config.blocks = 3;
  config.block_steps = 2;
  config.network = "small_cnn:width=2";
  config.timed_against = "small_cnn:width=64";
  const auto dataset = toy_dataset();
  const Operators operators;
  const auto worked = [](const char* sizes) {
    return std::ranges::any_of(Operators::calls(), [sizes](const std::string& call) {
      return call.starts_with("aten::convolution ") && call.find(sizes) != std::string::npos;
    });
  };
  std::string state;
  int blocks = 0;
  const auto sink = [&](const Json& event) {
    if (event.at("event") == "final") state = event.at("state");
    // Before the first block both are warmed up.
    if (event.at("event") == "block" && event.at("pair") > 0) {
      ++blocks;
      const bool dense = event.at("arm") == "dense";
      EXPECT_EQ(worked(" [64,"), dense) << event;
      EXPECT_EQ(worked(" [2,"), !dense) << event;
    }
    Operators::calls().clear();
  };
  std::atomic<bool> stop = false;
  run_timing(config, dataset, sink, stop);
  EXPECT_EQ(blocks, 4);
  EXPECT_EQ(state, "finished");
}

TEST(TimingRun, TheLibrarysStepIsHeldAgainstTheBest) {
  auto config = toy_config();
  config.purpose = Purpose::kTiming;
  config.blocks = 3;
  config.block_steps = 2;
  config.operators = OperatorSet::kLibrary;
  const auto dataset = toy_dataset();
  const Operators operators;
  int blocks = 0;
  const auto sink = [&](const Json& event) {
    EXPECT_NE(event.value("name", ""), "phase_share") << "of whose step?";
    EXPECT_NE(event.value("name", ""), "backward_ns");
    // Before the first block both are warmed up.
    if (event.at("event") == "block" && event.at("pair") > 0) {
      ++blocks;
      const bool norm_of_libtorch = std::ranges::any_of(
          Operators::calls(),
          [](const std::string& call) { return call.starts_with("aten::batch_norm "); });
      EXPECT_EQ(norm_of_libtorch, event.at("arm") == "approx") << event;
    }
    Operators::calls().clear();
  };
  std::atomic<bool> stop = false;
  run_timing(config, dataset, sink, stop);
  EXPECT_EQ(blocks, 4);
}

}  // namespace
}  // namespace approx
