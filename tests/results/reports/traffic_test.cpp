
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "results/rows/rows.h"
#include "results/store/database.h"
#include "results/store/maintenance.h"
#include "tests/results/filled_store.h"
#include "tests/results/reports/made.h"

namespace approx {
namespace {

class TrafficReport : public testing::Test {
 protected:
  void add(const std::vector<std::pair<PlannedRun, std::vector<Json>>>& runs) const {
    std::vector<PlannedRun> plans;
    for (const auto& [plan, events] : runs) plans.push_back(plan);
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(experiment_of(plans), "sweep");
    for (const auto& [plan, events] : runs) {
      const auto id = store.begin(plan.key, environment_of(), folder_ / "runs");
      ASSERT_TRUE(id) << plan.key;
      store.finish(*id, events, {});
    }
  }

  // A finished training with these events.
  static std::vector<Json> trained(const std::vector<Json>& sent) {
    auto events = accuracy_events({0.5});
    events.insert(events.begin(), sent.begin(), sent.end());
    return events;
  }

  // The report as JSON objects.
  Json lines(const ReportOptions& options = {}) const {
    return Json::parse(render(made("traffic", path_, options), "json"))["rows"];
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";
};

// Step by step, exchange by exchange, as a ring of four ranks sends them.
TEST_F(TrafficReport, IsWhatTheRanksSentStepByStep) {
  constexpr int64_t kRanks = 4, kSteps = 4;
  const auto of_a_sum = [](int64_t bytes) { return 2 * (kRanks - 1) * bytes / kRanks; };
  const auto of_a_gather = [](int64_t bytes) { return (kRanks - 1) * bytes; };
  struct Sent {
    int64_t calls = 0, bytes = 0, dense = 0;
  };
  std::map<std::string, Sent> sums;
  const auto send = [&](const std::string& layer, int64_t bytes, int64_t dense) {
    Sent& sent = sums[layer];
    ++sent.calls, sent.bytes += bytes, sent.dense += dense;
  };
  for (int64_t step = 0; step < kSteps; ++step) {
    // 1000 weights, of which every second step sums half.
    send("conv", of_a_sum(step % 2 == 0 ? 4 * 1000 : 4 * 500), of_a_sum(4 * 1000));
    // 100 weights, of which each rank sends ten and where they are, and which are not due at first.
    if (step > 0) send("fc", of_a_gather(10 * (4 + 8)), of_a_sum(4 * 100));
    send("bn", of_a_sum(4 * 16), of_a_sum(4 * 16));
    send("", of_a_sum(4 * 20), of_a_sum(4 * 20));
  }
  std::vector<Json> events;
  int64_t all = 0, all_dense = 0;
  for (const auto& [layer, sent] : sums) {
    events.push_back(traffic_event(layer, sent.calls, sent.bytes, sent.dense));
    all += sent.bytes, all_dense += sent.dense;
  }
  add({{of_ranks(kRanks, planned("zero", 0)), trained(events)}});
  EXPECT_EQ(check_store(path_), std::vector<std::string>{});

  Catalogue catalogue;
  catalogue.networks.emplace_back().name = "lenet";
  catalogue.networks[0].layers = {{.name = "conv"}, {.name = "fc"}};
  const Json found = lines({.catalogue = &catalogue});
  const std::vector<std::string> order = {"conv", "fc", "bn", ""};
  ASSERT_EQ(found.size(), order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const Sent& sent = sums.at(order[i]);
    EXPECT_EQ(found[i]["layer"], order[i]);
    EXPECT_EQ(found[i]["layer_index"], i + 1);
    EXPECT_EQ(found[i]["calls"], sent.calls);
    EXPECT_EQ(found[i]["bytes"], sent.bytes);
    EXPECT_EQ(found[i]["bytes_dense"], sent.dense);
    const auto real = [](int64_t number) { return static_cast<double>(number); };
    EXPECT_DOUBLE_EQ(found[i]["bytes_per_step"].get<double>(), real(sent.bytes) / real(sent.calls));
    EXPECT_DOUBLE_EQ(found[i]["bytes_dense_per_step"].get<double>(),
                     real(sent.dense) / real(sent.calls));
    EXPECT_DOUBLE_EQ(found[i]["sent_pct"].get<double>(), 100 * real(sent.bytes) / real(sent.dense));
    EXPECT_EQ(found[i]["n"], 1);
  }
  // All of it together.
  const Table table = made("traffic", path_, {.catalogue = &catalogue});
  const double reduction = 100 * (1 - static_cast<double>(all) / static_cast<double>(all_dense));
  ASSERT_EQ(table.notes.size(), 2U);
  EXPECT_EQ(table.notes[0],
            fmt::format("LeNet on mnist: zero, all: % fewer bytes than exact training in all: "
                        "{:.2f} (n=1)",
                        reduction));
  const RowSet set(Snapshot(path_), {});
  EXPECT_DOUBLE_EQ(set.rows()[0].cells[0]->run()->measured->communication_reduction().value_or(-1),
                   reduction);
}

TEST_F(TrafficReport, ReadsAsATable) {
  add({{of_ranks(4, planned("zero", 0)),
        trained({traffic_event("conv", 4, 3000, 12000), traffic_event("", 4, 88, 88)})}});
  EXPECT_EQ(
      render(made("traffic", path_), "md"),
      "| network | data set | schedule | method | layer              | steps | sent, bytes a step "
      "| exact, bytes a step | of exact, % | n   |\n"
      "|---------|----------|----------|--------|--------------------|-------|--------------------"
      "|---------------------|-------------|-----|\n"
      "| LeNet   | mnist    | all      | zero   | conv               | 4     | 750                "
      "| 3000                | 25.0        | 1   |\n"
      "| LeNet   | mnist    | all      | zero   | (beside gradients) | 4     | 22                 "
      "| 22                  | 100.0       | 1   |\n\n"
      "- LeNet on mnist: zero, all: % fewer bytes than exact training in all: 74.45 (n=1)\n"
      "- bytes that one rank sends in a step, over all training steps, the mean over the ranks\n");
}

// The mean over the seeds, each of whose steps counts alike.
TEST_F(TrafficReport, SeedsAreOneLine) {
  add({{of_ranks(4, planned("zero", 0)), trained({traffic_event("conv", 4, 4000, 8000)})},
       {of_ranks(4, planned("zero", 1)), trained({traffic_event("conv", 2, 1000, 4000)})},
       {of_ranks(4, planned("dense", 0)), trained({traffic_event("conv", 4, 8000, 8000)})}});
  const Json found = lines();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]["n"], 2);
  EXPECT_EQ(found[0]["calls"], 3);
  EXPECT_EQ(found[0]["bytes"], 2500);
  EXPECT_DOUBLE_EQ(found[0]["bytes_per_step"].get<double>(), 5000.0 / 6);
  EXPECT_DOUBLE_EQ(found[0]["sent_pct"].get<double>(), 100 * 5000.0 / 12000);
  EXPECT_EQ(found[1]["method"], "dense");
  EXPECT_EQ(found[1]["sent_pct"], 100);
  const auto notes = made("traffic", path_).notes;
  ASSERT_EQ(notes.size(), 2U) << "none of exact training";
  // Of the runs' 50 % and 75 %.
  EXPECT_TRUE(notes[0].find("in all: 62.50 ± ") != std::string::npos) << notes[0];
}

TEST_F(TrafficReport, OneRankSendsNothing) {
  add({{planned("zero", 0), trained({})}});
  const Table table = made("traffic", path_);
  EXPECT_TRUE(table.rows.empty());
  EXPECT_TRUE(table.notes.empty());
  const RowSet set(Snapshot(path_), {});
  EXPECT_EQ(set.rows()[0].cells[0]->run()->measured->communication_reduction(), std::nullopt);
}

// A layer that was never due has no share, and nothing is divided by it.
TEST_F(TrafficReport, WhatWasNeverDueHasNoShare) {
  add({{of_ranks(2, planned("zero", 0)), trained({traffic_event("frozen", 0, 0, 0)})}});
  const Json found = lines();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["bytes_per_step"], nullptr);
  EXPECT_EQ(found[0]["sent_pct"], nullptr);
  EXPECT_FALSE(found[0].contains("special")) << "nothing, and not what is no number";
  EXPECT_NE(render(made("traffic", path_), "md").find("–"), std::string::npos);
}

// Timing runs stand in for trainings that are not there, and only then.
TEST_F(TrafficReport, TimingsCountWhereThereIsNoTraining) {
  const auto timed = [](int64_t bytes) {
    return std::vector<Json>{block_event(0, "dense", 4, 200), block_event(0, "approx", 4, 100),
                             traffic_event("conv", 4, bytes, 8000), final_event(1)};
  };
  const auto timing = of_ranks(4, planned("zero", 0, Purpose::kTiming));
  add({{timing, timed(2000)}});
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0]["bytes"], 2000);
  std::filesystem::remove(path_);
  add({{timing, timed(2000)},
       {of_ranks(4, planned("zero", 0)), trained({traffic_event("conv", 4, 4000, 8000)})}});
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0]["bytes"], 4000);
}

}  // namespace
}  // namespace approx
