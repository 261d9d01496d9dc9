// Stores with a few runs, and single cells of their reports.
#pragma once

#include <gtest/gtest.h>

#include <limits>

#include "tests/results/filled_store.h"
#include "tests/results/reports/made.h"

namespace approx {

using Mode = RunStore::Mode;

class ReportTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";

  struct Ran {
    PlannedRun plan;
    std::vector<Json> events;
    Json environment = environment_of();
    RunEnd end = {};
  };

  static Ran accuracy(const std::string& method, int64_t seed, std::vector<double> curve) {
    return {planned(method, seed), accuracy_events(curve)};
  }

  // One process: four pairs of blocks at about `dense_ns` against 1000 for ten steps.
  static Ran timing(const std::string& method, int64_t dense_ns, int64_t seed = 0,
                    int64_t spread = 1) {
    Ran ran{planned(method, seed, Purpose::kTiming), {}};
    for (int64_t pair = 0; pair < 4; ++pair) {
      ran.events.push_back(block_event(pair, "dense", 10, dense_ns + spread * pair));
      ran.events.push_back(block_event(pair, "approx", 10, 1000));
    }
    ran.events.push_back(final_event(1));
    return ran;
  }

  // Plans all runs and ends those that have events or did not end well.
  void fill(const std::vector<Ran>& runs, std::optional<Target> target = std::nullopt) {
    fill_store(path_, runs, target);
  }

  void fill_store(const std::string& path, const std::vector<Ran>& runs,
                  std::optional<Target> target = std::nullopt) {
    std::vector<PlannedRun> plans;
    for (const auto& run : runs) plans.push_back(run.plan);
    auto experiment = experiment_of(plans);
    experiment.target = target;
    RunStore store(path, Mode::kWrite);
    store.add_experiment(experiment, "sweep");
    for (const auto& run : runs) {
      if (run.events.empty() && run.end.state == RunState::kFinished) continue;
      const auto id = store.begin(run.plan.key, run.environment, path + "-runs");
      ASSERT_TRUE(id) << run.plan.key;
      store.finish(*id, run.events, run.end);
    }
  }

  // One column of the row of a method.
  static Field at(const Table& table, const std::string& method, const std::string& column) {
    const auto name = std::find(table.columns.begin(), table.columns.end(), column);
    EXPECT_NE(name, table.columns.end()) << column;
    const auto methods = std::find(table.columns.begin(), table.columns.end(), "method");
    for (const auto& row : table.rows) {
      if (std::get<std::string>(row[static_cast<size_t>(methods - table.columns.begin())]) ==
          method) {
        return row[static_cast<size_t>(name - table.columns.begin())];
      }
    }
    ADD_FAILURE() << "no row of " << method;
    return {};
  }

  static double real(const Table& table, const std::string& method, const std::string& column) {
    const Field value = at(table, method, column);
    return std::holds_alternative<double>(value) ? std::get<double>(value)
                                                 : std::numeric_limits<double>::quiet_NaN();
  }

  static int64_t count(const Table& table, const std::string& method, const std::string& column) {
    const Field value = at(table, method, column);
    return std::holds_alternative<int64_t>(value) ? std::get<int64_t>(value) : -1;
  }
};

// By hand, with t(2) / sqrt(3) = 2.484138:
//   dense 75, 81.25, 87.5: mean 81.25, sd 6.25, half 15.526
//   zero  68.75, 68.75, 81.25: mean 72.917, sd 12.5 / sqrt(3) = 7.2169, half 17.928
//   losses 6.25, 12.5, 6.25: mean 8.3333, sd 3.6084, half 8.9639; of 8 sign patterns 2 reach the
//   sum 25, p = 0.25
//   two processes: ratios 2 and 4, ratio 2^1.5 = 2.8284; half = t(1) / sqrt(2) * sd = 12.7062 / 2 *
//   ln 2
//   target 0.8: dense at 2 s and 1 s, zero at 2 s, each after an epoch of 1 s
class ThreeSeeds : public ReportTest {
 protected:
  void fill_three() {
    const auto timing = [](int64_t seed, int64_t dense_ns) {
      return Ran{planned("zero", seed, Purpose::kTiming),
                 {block_event(0, "dense", 10, dense_ns), block_event(0, "approx", 10, 100'000'000),
                  final_event(1)}};
    };
    fill({accuracy("dense", 0, {0.5, 0.75}), accuracy("dense", 1, {0.5, 0.8125}),
          accuracy("dense", 2, {0.8125, 0.875}), accuracy("zero", 0, {0.5, 0.6875}),
          accuracy("zero", 1, {0.75, 0.6875}), accuracy("zero", 2, {0.5, 0.8125}),
          timing(0, 200'000'000), timing(1, 400'000'000)},
         Target{"accuracy", 0.8});
  }
};

}  // namespace approx
