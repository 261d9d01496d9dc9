// Whether reports call a difference between methods that train as exact training does.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "results/reports/advice.h"
#include "results/reports/worth.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

constexpr int kNetworks = 300;  // each with its own exact training, so that pairs are independent
constexpr int64_t kSeeds = 6;

// A run that ends at this accuracy. Cells of one network are one group.
Cell trained(int64_t network, const std::string& method, int64_t seed, double accuracy) {
  Cell cell;
  const PlannedRun run = planned(method, seed);
  cell.cell_id = network * 100 + seed * 2 + (method == "dense" ? 0 : 1) + 1;
  cell.config = run.config;
  cell.config.network = fmt::format("network{}", network);
  cell.run_key = fmt::format("{}/{}", network, run.key);
  cell.method = method, cell.method_label = method;
  cell.schedule_label = run.schedule_label;
  cell.schedule = method == "dense" ? "" : "all";
  cell.network_label = cell.config.network;
  Run& ended = cell.runs.emplace_back();
  ended.state = RunState::kFinished;
  ended.dataset_id = ended.host_id = 1;
  ended.train_ns = 1'000'000'000;
  auto measured = std::make_shared<RunMeasurements>();
  measured->accuracy["test"] = {
      {.step = 600, .train_ns = 1'000'000'000, .epoch = 1, .value = accuracy}};
  ended.measured = measured;
  return cell;
}

// Each seed has its own level, and each training its own noise.
Contents equal_arms() {
  std::mt19937_64 engine(20261128);
  const auto uniform = [&] { return (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53; };
  const auto normal = [&] {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::acos(-1.0) * uniform());
  };
  Contents contents;
  for (int64_t network = 0; network < kNetworks; ++network) {
    for (int64_t seed = 0; seed < kSeeds; ++seed) {
      const double level = 0.92 + 0.002 * normal();
      for (const char* method : {"dense", "zero"}) {
        const double accuracy = std::round(1e4 * (level + 0.002 * normal())) / 1e4;
        contents.cells.push_back(trained(network, method, seed, accuracy));
      }
    }
  }
  return contents;
}

TEST(EqualArmsInReports, AreCalledDifferentInOneOfTwentyAtMost) {
  const RowSet set(equal_arms(), /*include_tainted=*/false);
  int64_t pairs = 0, by_interval = 0, by_p = 0, by_holm = 0, loses = 0;
  const Snapshot empty = Snapshot::or_empty("no such store");
  const Worths worths = worths_of(set, empty, {.margin = Margin(0.1)});
  for (const auto& row : set.rows()) {
    if (row.dense == &row) continue;
    ++pairs;
    ASSERT_EQ(row.loss.n, kSeeds);
    by_interval += std::fabs(row.loss.mean) > *row.loss.half;
    by_p += *row.loss.p < 0.05;
    by_holm += *row.loss_p_holm < 0.05;
    loses += worths.at(&row).loses;
  }
  ASSERT_EQ(pairs, kNetworks);
  RecordProperty("by_interval", std::to_string(by_interval));
  RecordProperty("by_p", std::to_string(by_p));
  RecordProperty("by_holm", std::to_string(by_holm));
  RecordProperty("loses_too_much", std::to_string(loses));
  // If each of 300 has a chance of 5 %, the count is 22 or less with a probability of 97.5 %.
  EXPECT_LE(by_interval, 22);
  EXPECT_GE(by_interval, 7) << "an interval that never excludes 0 is too wide";
  EXPECT_LE(by_p, 22);
  EXPECT_EQ(by_holm, 0) << "no p of six seeds is below 0.05 after an adjustment over 300 losses";
  EXPECT_LE(loses, 15);
}

}  // namespace
}  // namespace approx
