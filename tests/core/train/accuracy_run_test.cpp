// What an accuracy run counts as training time, and which checkpoints it goes on from.
#include "core/train/accuracy_run.h"

#include <chrono>
#include <thread>

#include "core/train/step_graphs.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

TEST(WarmupSteps, AreAPeriodAndWhereStepsAreCapturedAsManyAsThatTakes) {
  EXPECT_EQ(warmup_steps(1, 100, /*captures=*/false), 4);
  EXPECT_EQ(warmup_steps(8, 100, /*captures=*/false), 8);
  EXPECT_EQ(warmup_steps(1, 100, /*captures=*/true), 4);
  EXPECT_EQ(warmup_steps(2, 100, /*captures=*/true), 6);
  EXPECT_EQ(warmup_steps(8, 100, /*captures=*/true), 24);
  EXPECT_EQ(warmup_steps(9, 100, /*captures=*/true), 25) << "no more than a quarter";
  EXPECT_EQ(warmup_steps(9, 3, /*captures=*/true), 0);
  EXPECT_EQ(warmup_steps(1, 14, /*captures=*/false), 3);
}

// Every row of a schedule of so many steps is captured by then: what comes after are replays.
TEST(WarmupSteps, HaveAllCapturesInThem) {
  class Recorder final : public StepRecorder {
    struct Recorded final : RecordedStep {
      void replay() override {}
    };
    std::unique_ptr<RecordedStep> record(const std::function<void()>& step) override {
      step();
      return std::make_unique<Recorded>();
    }
  };
  for (const int64_t period : {1, 2, 5}) {
    StepGraphs graphs(std::make_unique<Recorder>(), at::kCPU, {});
    const int64_t warmup = warmup_steps(period, 1000, /*captures=*/true);
    const auto run = [&](int64_t from, int64_t to) {
      for (int64_t step = from; step < to; ++step) {
        graphs.run({{static_cast<int>(step % period)}, {}}, "", [] {});
      }
    };
    run(0, warmup);
    EXPECT_EQ(graphs.report().graphs, period);
    const int64_t before = graphs.report().steps.at("before capture");
    run(warmup, warmup + 3 * period);
    EXPECT_EQ(graphs.report().graphs, period);
    EXPECT_EQ(graphs.report().steps.at("before capture"), before);
  }
}

// One rank with a device of its own, whose wishes take their time to come back: the other ranks'
// hosts are slow. All else is there at once.
class SlowWishes final : public Collectives {
 public:
  static constexpr std::chrono::milliseconds kEach{20};

  SlowWishes() : Collectives({.rank = 0, .size = 1}) {}
  bool is_of_device() const override { return true; }
  void close() override {}
  Json description() const override { return {{"library", "none"}}; }

 private:
  struct Sent final : Pending {
    explicit Sent(bool waits) : is_slow(waits) {}
    void wait() override {
      if (is_slow) std::this_thread::sleep_for(kEach);
    }
    bool is_slow;
  };
  std::unique_ptr<Pending> do_start_sums(std::vector<Sum> sums) override {
    const auto& values = sums.front().values;  // of wishes two whole numbers
    return std::make_unique<Sent>(values.scalar_type() == at::kLong && values.numel() == 2);
  }
  std::unique_ptr<Pending> do_start_gather(const at::Tensor& own, const at::Tensor& all) override {
    all[0].copy_(own);
    return std::make_unique<Sent>(false);
  }
  void do_broadcast(const at::Tensor&) override {}
};

TEST(AccuracyRun, WhatItWaitsForOtherHostsIsTrainingTime) {
  const auto data = toy_dataset();
  const std::atomic<bool> stop = false;
  Json last;
  run_accuracy(
      toy_run("dense", "", 1), data, {}, [&](const Json& event) { last = event; }, stop, {},
      std::make_shared<SlowWishes>());
  ASSERT_EQ(last["state"], "finished");
  const int64_t steps = last["steps"], warmup = last["warmup_steps"];
  ASSERT_EQ(steps, 14);
  ASSERT_EQ(warmup, 3);
  // Each step but the first waits for what was said before the one that preceded it, and the wait
  // is its own: that before the first timed step counts.
  const int64_t each = std::chrono::nanoseconds(SlowWishes::kEach).count();
  int64_t beside_steps = last["train_ns"];
  for (const int64_t step_ns : last["step_ns"]) beside_steps -= step_ns;
  EXPECT_GE(beside_steps, (steps - warmup) * each);
  EXPECT_GE(last["warmup_ns"].get<int64_t>(), (warmup - 1) * each);
  EXPECT_GE(last["wall_ns"].get<int64_t>(), last["train_ns"].get<int64_t>() +
                                                last["eval_ns"].get<int64_t>() +
                                                last["warmup_ns"].get<int64_t>());
}

std::string refusal_of(const Checkpoint& checkpoint, const RunConfig& config) {
  try {
    require_own(checkpoint, config);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    return error.what();
  }
  return "";
}

TEST(AccuracyRun, GoesOnFromItsOwnCheckpointsAndOnAGpuFromThoseWithItsClock) {
  auto config = toy_run("dense", "", 1);
  const auto other = toy_run("dense", "", 2);
  for (const auto device : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    config.device = device;
    Checkpoint checkpoint;
    EXPECT_EQ(refusal_of(checkpoint, config), "the checkpoint is of another run");
    checkpoint.state["config"] = config;
    const bool is_old = device == DeviceKind::kCuda;
    const std::string short_seconds = "the seconds of the checkpoint leave out what the device did";
    EXPECT_EQ(refusal_of(checkpoint, config), is_old ? short_seconds : "");
    checkpoint.state["device_time"] = "queued";
    EXPECT_EQ(refusal_of(checkpoint, config), is_old ? short_seconds : "");
    checkpoint.state["device_time"] = "whole";
    EXPECT_EQ(refusal_of(checkpoint, config), "");
    EXPECT_EQ(refusal_of(checkpoint, other), "the checkpoint is of another run");
  }
}

}  // namespace
}  // namespace approx
