#include "cli/sweep/run_queue.h"

#include <gtest/gtest.h>

#include "tests/results/filled_store.h"

namespace approx {
namespace {

using std::chrono::seconds;

class RunQueueTest : public testing::Test {
 protected:
  // In the order of an experiment: method by method.
  const std::vector<PlannedRun> runs_ = {planned("dense", 0), planned("dense", 1),
                                         planned("zero", 0), planned("zero", 1)};
  const RunQueue::Clock::time_point start_{};

  RunQueue filled(RunQueue queue) const {
    for (const auto& run : runs_) queue.add({.run = &run});
    queue.sort();
    return queue;
  }

  static std::string names(RunQueue& queue, RunQueue::Clock::time_point now) {
    std::string names;
    while (const auto next = queue.take(now)) {
      names += next->run->method_label + std::to_string(next->run->config.seed) + " ";
    }
    return names;
  }
};

TEST_F(RunQueueTest, WithoutABudgetAllAreBegunInTheirOrder) {
  auto queue = filled({});
  EXPECT_EQ(names(queue, start_ + seconds(1'000'000)), "dense0 dense1 zero0 zero1 ");
  EXPECT_FALSE(queue.is_over());
}

TEST_F(RunQueueTest, WithABudgetAComparisonIsCompleteBeforeTheNext) {
  auto queue = filled({start_ + seconds(100), RunTimes()});
  EXPECT_EQ(names(queue, start_), "dense0 zero0 dense1 zero1 ");
}

TEST_F(RunQueueTest, WhatWouldNotEndInTimeIsNotBegun) {
  RunTimes times;
  times.add(planned("dense", 7).config, 30);
  times.add(planned("zero", 7).config, 10);
  auto queue = filled({start_ + seconds(100), times});
  EXPECT_EQ(names(queue, start_ + seconds(80)), "zero0 zero1 ");
  EXPECT_EQ(queue.size(), 2);
  EXPECT_EQ(names(queue, start_ + seconds(70)), "dense0 dense1 ");
}

TEST_F(RunQueueTest, ItLearnsFromTheRunsOfThisSweep) {
  auto queue = filled({start_ + seconds(100), RunTimes()});
  EXPECT_EQ(queue.take(start_)->run->method_label, "dense");
  queue.learn(planned("dense", 0).config, 60);
  EXPECT_EQ(queue.take(start_ + seconds(60)), std::nullopt) << "other methods are alike, too";
  EXPECT_FALSE(queue.is_over(start_ + seconds(60)));
  EXPECT_TRUE(queue.is_over(start_ + seconds(101)));
}

TEST(RunTimesTest, TheNearestRunsAreGoneBy) {
  RunTimes times;
  EXPECT_EQ(times.expected(planned("zero", 0).config), std::nullopt);
  times.add(planned("dense", 0).config, 8);
  EXPECT_EQ(times.expected(planned("zero", 0).config), 8);
  for (const double took : {5, 1, 3}) times.add(planned("zero", 3).config, took);
  EXPECT_EQ(times.expected(planned("zero", 0).config), 3) << "their median";
  auto larger = planned("zero", 0).config;
  larger.network = "vgg19";
  EXPECT_EQ(times.expected(larger), std::nullopt);
}

TEST(RunTimesTest, AreReadFromAStore) {
  const TemporaryFolder folder;
  const auto run = planned("zero", 0);
  EXPECT_EQ(RunTimes(folder / "none.db").expected(run.config), std::nullopt);
  RunStore store(folder / "t.db", RunStore::Mode::kWrite);
  store.add_experiment(experiment_of({run}), "sweep");
  const auto run_id = store.begin(run.key, environment_of(), folder / "run");
  store.finish(*run_id, accuracy_events({0.5, 0.6}), {});
  EXPECT_NEAR(RunTimes(folder / "t.db").expected(planned("zero", 5).config).value_or(0), 2, 1e-3);
}

}  // namespace
}  // namespace approx
