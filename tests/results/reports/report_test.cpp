#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "base/files.h"
#include "results/reports/compare.h"
#include "results/reports/run_details.h"
#include "results/rows/stored_rows.h"
#include "results/stats/stats.h"
#include "results/store/database.h"
#include "results/store/maintenance.h"
#include "tests/results/filled_store.h"
#include "tests/results/reports/made.h"

namespace approx {
namespace {

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

TEST_F(ReportTest, AnEmptyStoreIsAnEmptyTable) {
  { RunStore store(path_, Mode::kWrite); }
  const Table table = made("table", path_);
  EXPECT_TRUE(table.rows.empty());
  EXPECT_EQ(
      render(table, "md"),
      "| network | data set | schedule | method | n   | accuracy % | best % | loss vs dense, pp "
      "| speedup vs exact | speedup (not isolated) | time to target | images/s | runs |\n"
      "|---------|----------|----------|--------|-----|------------|--------|------------------"
      "-|------------------|------------------------|----------------|----------|------|\n");
  EXPECT_EQ(render(table, "jsonl"), "");
  EXPECT_EQ(Json::parse(render(table, "json"))["rows"], Json::array());
  EXPECT_TRUE(made("kernels", path_).rows.empty());
  EXPECT_TRUE(made("runs", path_).rows.empty());
  EXPECT_THROW(made("table", folder_ / "none.db"), Error);
  EXPECT_THROW(made("table", path_, {.experiment = "test:one"}), Error);
}

TEST_F(ReportTest, RunsAreShownWithTheSettingsInWhichTheyDiffer) {
  auto slow = accuracy("dense", 0, {0.75}), fast = accuracy("zero", 0, {0.5});
  fast.plan.config.recipe.learning_rate = 0.4;
  fast.plan.config.train_examples = 5000;
  slow.plan.config.recipe.learning_rate = 0.05;
  fill({slow, fast});
  const Table table = made("runs", path_);
  EXPECT_EQ(real(table, "dense", "learning_rate"), 0.05);
  EXPECT_EQ(real(table, "zero", "learning_rate"), 0.4);
  EXPECT_EQ(count(table, "zero", "batch_size"), 100);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "device")), "cpu");
  const std::string text = render(table, "md");
  EXPECT_NE(text.find("| method | rate | images | seed |"), std::string::npos) << text;
  EXPECT_NE(text.find("| dense  | 0.05 | all    | 0    |"), std::string::npos) << text;
  EXPECT_NE(text.find("| zero   | 0.4  | 5000   | 0    |"), std::string::npos) << text;
}

// A margin that is a share of the error would be below 0 where more than everything was right.
TEST_F(ReportTest, AnAccuracyThatIsNoShareIsDamage) {
  fill({accuracy("dense", 0, {0.75}), accuracy("zero", 0, {0.5})});
  for (const char* value : {"1e30", "1.5", "-0.5"}) {
    SQLite::Database(path_, SQLite::OPEN_READWRITE)
        .exec(fmt::format("UPDATE metric SET value = {}", value));
    try {
      made("advice", path_);
      ADD_FAILURE() << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDatabase) << error.what();
    }
  }
  SQLite::Database(path_, SQLite::OPEN_READWRITE).exec("UPDATE metric SET value = 1");
  EXPECT_EQ(made("advice", path_).rows.size(), 1U);
}

TEST_F(ReportTest, OneSeedHasNoInterval) {
  fill({accuracy("dense", 0, {0.75}), accuracy("zero", 0, {0.6875})});
  EXPECT_EQ(
      render(made("table", path_), "md"),
      R"(| network | data set | schedule | method      | n   | accuracy %  | best %      | loss vs dense, pp | speedup vs exact | speedup (not isolated) | time to target | images/s | runs |
|---------|----------|----------|-------------|-----|-------------|-------------|-------------------|------------------|------------------------|----------------|----------|------|
| LeNet   | mnist    |          | dense [a,b] | 1   | 75.00 (n=1) | 75.00 (n=1) | –                 | –                | –                      | –              | 10000.0  | 1/1  |
| LeNet   | mnist    | all      | zero [a,b]  | 1   | 68.75 (n=1) | 68.75 (n=1) | 6.25 (n=1)        | –                | 1.00× (n=1)            | –              | 10000.0  | 1/1  |

- a: fewer than 5 seeds; one seed has no interval
- b: images/s of runs that may have shared the machine
- ±, [ ]: 95 % intervals
)");
}

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

TEST_F(ThreeSeeds, NumbersAreThoseComputedByHand) {
  fill_three();
  const Table table = made("table", path_);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(real(table, "dense", "accuracy_pct"), 81.25);
  EXPECT_NEAR(real(table, "dense", "accuracy_pct_half"), 15.52586, 1e-4);
  EXPECT_NEAR(real(table, "zero", "accuracy_pct"), 72.91667, 1e-4);
  EXPECT_NEAR(real(table, "zero", "accuracy_pct_half"), 17.92772, 1e-4);
  EXPECT_NEAR(real(table, "zero", "best_accuracy_pct"), 75.0, 1e-9);  // 68.75, 75, 81.25
  EXPECT_NEAR(real(table, "zero", "loss_pp"), 8.33333, 1e-4);
  EXPECT_NEAR(real(table, "zero", "loss_pp_half"), 8.96386, 1e-4);
  EXPECT_DOUBLE_EQ(real(table, "zero", "loss_p"), 0.25);
  EXPECT_EQ(count(table, "zero", "loss_pairs"), 3);
  EXPECT_NEAR(real(table, "zero", "speedup"), std::exp2(1.5), 1e-12);
  EXPECT_NEAR(real(table, "zero", "speedup_lo"), std::exp2(1.5 - 6.353102), 1e-5);
  EXPECT_NEAR(real(table, "zero", "speedup_hi"), std::exp2(1.5 + 6.353102), 1e-2);
  EXPECT_DOUBLE_EQ(real(table, "zero", "speedup_not_isolated"), 1);
  EXPECT_DOUBLE_EQ(real(table, "dense", "time_to_target_s"), 1.5);
  EXPECT_EQ(count(table, "dense", "target_reached"), 2);
  EXPECT_DOUBLE_EQ(real(table, "zero", "time_to_target_s"), 2);
  EXPECT_EQ(count(table, "zero", "target_reached"), 1);
  EXPECT_DOUBLE_EQ(real(table, "zero", "images_per_s"), 10000);
  EXPECT_EQ(count(table, "zero", "images_per_s_isolated"), 1);
  EXPECT_DOUBLE_EQ(real(table, "dense", "images_per_s"), 3750);  // median of 5000 and 2500
  EXPECT_EQ(count(table, "zero", "planned"), 5);
  EXPECT_EQ(count(table, "zero", "finished"), 5);
}

TEST_F(ThreeSeeds, Markdown) {
  fill_three();
  EXPECT_EQ(
      render(made("table", path_), "md"),
      R"(| network | data set | schedule | method     | n   | accuracy %    | best %        | loss vs dense, pp    | speedup vs exact | speedup (not isolated) | time to target      | images/s | runs |
|---------|----------|----------|------------|-----|---------------|---------------|----------------------|------------------|------------------------|---------------------|----------|------|
| LeNet   | mnist    |          | dense [a]  | 3   | 81.25 ± 15.53 | 81.25 ± 15.53 | –                    | –                | –                      | 1.5 s (2/3 reached) | 3750.0   | 3/3  |
| LeNet   | mnist    | all      | zero [a,b] | 3   | 72.92 ± 17.93 | 75.00 ± 15.53 | 8.33 ± 8.96 (p=0.25) | 2.83× (n=2)      | 1.00× [1.00, 1.00]     | 2.0 s (1/3 reached) | 10000.0  | 5/5  |

- a: fewer than 5 seeds; one seed has no interval
- b: its speedup was timed in fewer than 5 processes; one process has no interval
- target: 80 % accuracy
- ±, [ ]: 95 % intervals
- p: exact sign-flip test against no difference from dense, Holm-adjusted over the one loss of the table, which takes 6 seeds before any can be below 0.05
- speedup vs exact: over this program's best exact step, which has kernels of its own; vs stock: no timing with operators = library of this step on this machine
)");
}

TEST_F(ThreeSeeds, Csv) {
  fill_three();
  // The last digits of logarithms and quantiles depend on the mathematical library: the columns
  // that have them are compared with NumbersAreThoseComputedByHand, here the text around them.
  std::string csv = render(made("table", path_), "csv");
  csv = std::regex_replace(csv, std::regex(R"((\d+\.\d{4})\d+)"), "$1");
  EXPECT_EQ(csv,
            "network,dataset,schedule,method,setting,tuned_rate,n,accuracy_pct,accuracy_pct_half,"
            "accuracy_pct_sd,best_accuracy_pct,best_accuracy_pct_half,loss_pp,loss_pp_half,"
            "loss_pairs,loss_p,loss_p_holm,speedup,speedup_lo,speedup_hi,speedup_vs_stock,"
            "speedup_vs_stock_lo,speedup_vs_stock_hi,speedup_vs_stock_missing,speedup_block_pairs,"
            "speedup_runs,speedup_not_isolated,speedup_not_isolated_lo,speedup_not_isolated_hi,"
            "target,time_to_target_s,target_reached,target_runs,target_budget_s,images_per_s,"
            "images_per_s_isolated,planned,finished,diverged,failed,missing,notes,"
            "speedup_ceiling,speedup_estimated,compute_reduction_pct,realisation,realisation_lo,"
            "realisation_hi\n"
            "LeNet,mnist,,dense,,,3,81.25,15.5258,6.25,81.25,15.5258,,,0,,,,,,,,,no "
            "timing with operators = library of this step on this machine,0,0,,,,0.8,1.5,2,3,2,"
            "3750,1,3,3,0,0,0,few seeds,,,,,,\n"
            "LeNet,mnist,all,zero,,,3,72.9166,17.9277,7.2168,75,15.5258,8.3333,8.9638,3,0.25,0.25,"
            "2.8284,0.0345,231.2167,,,,no timing with operators = library of this step on this "
            "machine,2,2,1,1,1,0.8,2,1,3,2,10000,1,5,5,0,0,0,few seeds; few "
            "processes,,,,,,\n");
}

TEST_F(ThreeSeeds, JsonHasTheSameRows) {
  fill_three();
  const Json json = Json::parse(render(made("table", path_), "json"));
  EXPECT_EQ(json["schema"], "approxtrain.table/1");
  EXPECT_EQ(json["table"], "table");
  EXPECT_EQ(json["rows"][1]["method"], "zero");
  EXPECT_EQ(json["rows"][1]["loss_p"], 0.25);
  EXPECT_EQ(json["rows"][0]["loss_pp"], nullptr);
  EXPECT_FALSE(json["rows"][0].contains("special"));
  const std::string lines = render(made("table", path_), "jsonl");
  EXPECT_EQ(Json::parse(lines.substr(0, lines.find('\n'))), json["rows"][0]);
}

// One target for all rows of a table, and no other below it.
TEST_F(ThreeSeeds, ATargetThatIsAskedForIsTheOneOfTheTable) {
  fill_three();
  const ReportOptions asked{.target = 0.7};
  const Table table = made("table", path_, asked);
  EXPECT_DOUBLE_EQ(real(table, "dense", "target"), 0.7);
  EXPECT_EQ(count(table, "dense", "target_reached"), 3);
  EXPECT_NEAR(real(table, "dense", "time_to_target_s"), 5.0 / 3, 1e-12);
  EXPECT_EQ(count(table, "zero", "target_reached"), 2);
  const std::string text = render(table, "md");
  EXPECT_NE(text.find("- target: 70 % accuracy"), std::string::npos) << text;
  EXPECT_EQ(text.find("80 % accuracy"), std::string::npos);
  EXPECT_EQ(count(made("tta", path_, asked), "zero", "reached"), 2) << "as of every other report";
}

TEST_F(ThreeSeeds, ATargetIsRoundedAlikeInAllReports) {
  fill_three();
  const ReportOptions asked{.target = 0.154363057325};
  for (const Table& table : {made("tta", path_, asked), made("advice", path_, asked)}) {
    const std::string text = render(table, "md");
    EXPECT_NE(text.find("15.44 %"), std::string::npos) << text;
    EXPECT_EQ(text.find("15.436"), std::string::npos) << text;
  }
}

TEST_F(ThreeSeeds, TheSameStoreGivesTheSameBytes) {
  fill_three();
  for (const char* format : {"md", "csv", "json", "jsonl"}) {
    EXPECT_EQ(render(made("table", path_), format), render(made("table", path_), format));
  }
}

TEST_F(ReportTest, DivergedFailedAndMissingRunsAreCounted) {
  Ran diverged{planned("zero", 1), accuracy_events({0.1}, RunState::kDiverged)};
  Ran failed{
      planned("zero", 2), {}, environment_of(), {.state = RunState::kOom, .error = "memory"}};
  Ran missing{planned("zero", 3), {}};
  fill({accuracy("zero", 0, {0.75}), diverged, failed, missing}, Target{"accuracy", 0.9});
  const Table table = made("table", path_);
  EXPECT_EQ(count(table, "zero", "n"), 1);
  EXPECT_DOUBLE_EQ(real(table, "zero", "accuracy_pct"), 75);
  EXPECT_EQ(count(table, "zero", "diverged"), 1);
  EXPECT_EQ(count(table, "zero", "failed"), 1);
  EXPECT_EQ(count(table, "zero", "missing"), 1);
  EXPECT_EQ(table.text_rows[0].back(), "1/4, 1 diverged, 1 failed, 1 missing");
  // None of the two runs with a result reached it in its second of training.
  EXPECT_EQ(table.text_rows[0][10], "> 1.0 s (0/2 reached)");
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")), "few seeds; diverged; not isolated");
}

// A file of unknown origin: sums and squares of such numbers are no numbers.
TEST_F(ThreeSeeds, NumbersThatNothingMeasuresAreDamage) {
  fill_three();
  for (const char* change :
       {"UPDATE metric SET value = 1e308 WHERE run_id = 1", "UPDATE metric SET epoch = -9e307",
        "UPDATE run SET step_ns_median = 1e-200", "UPDATE metric SET train_ns = -1",
        "UPDATE run SET train_ns = -1"}) {
    const std::string copy = folder_ / "changed.db";
    write_file(copy, file_bytes(path_));
    SQLite::Database(copy, SQLite::OPEN_READWRITE).exec(change);
    try {
      made("table", copy);
      ADD_FAILURE() << change;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDatabase) << error.what();
    }
  }
}

TEST_F(ReportTest, OnlyDivergedRunsHaveNoMean) {
  fill({{planned("zero", 0), accuracy_events({0.1}, RunState::kDiverged)}});
  const Table table = made("table", path_);
  EXPECT_EQ(count(table, "zero", "n"), 0);
  EXPECT_EQ(at(table, "zero", "accuracy_pct").index(), 0u);
  EXPECT_EQ(table.text_rows[0][5], "–");
}

TEST_F(ReportTest, RunsOfSeveralMachinesArePairedInAccuracyAlone) {
  auto other = accuracy("zero", 1, {0.2, 0.5});
  other.environment = environment_of("other");
  fill({accuracy("dense", 0, {0.75}), accuracy("dense", 1, {1.0}), accuracy("zero", 0, {0.5}),
        other});
  const Table table = made("table", path_);
  EXPECT_EQ(count(table, "zero", "loss_pairs"), 2);
  EXPECT_DOUBLE_EQ(real(table, "zero", "loss_pp"), 37.5);
  EXPECT_DOUBLE_EQ(real(table, "zero", "speedup_not_isolated"), 1);  // that of seed 0
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")),
            "few seeds; not isolated; mixed hosts; pairs of different machines");
}

TEST_F(ReportTest, RunsOnOtherDataAreNeitherPairedNorHidden) {
  auto other = accuracy("zero", 1, {0.5});
  other.environment = environment_of("other", /*dirty=*/true, /*lossy=*/true);
  fill({accuracy("dense", 0, {0.75}), accuracy("dense", 1, {0.75}), accuracy("zero", 0, {0.5}),
        other});
  const Table table = made("table", path_);
  EXPECT_EQ(count(table, "zero", "n"), 2);
  EXPECT_EQ(count(table, "zero", "loss_pairs"), 1);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")),
            "few seeds; unpaired seeds; lossy data; dirty build; not isolated; mixed hosts");
}

// Half of a step is weight gradients, three fifths of whose work is approximated at a quarter of
// it.
TEST_F(ReportTest, TheCeilingAndTheEstimateOfASpeedup) {
  const auto phase = [](const char* name, double share) {
    return Json{{"event", "metric"}, {"name", "phase_share"}, {"split", name}, {"step", 8},
                {"epoch", 0.5},      {"train_ns", 1},         {"value", share}};
  };
  const auto layer = [](const char* method, int64_t calls, double dense, double done) {
    return Json{{"event", "layer"},    {"layer", "conv"},   {"product", "weight_gradient"},
                {"method", method},    {"calls", calls},    {"exact_calls", 2},
                {"macs_dense", dense}, {"macs_done", done}, {"density", nullptr}};
  };
  fill({{planned("zero", 0, Purpose::kTiming),
         {block_event(0, "dense", 10, 300), block_event(0, "approx", 10, 200),
          phase("weight_gradient", 0.5), phase("forward", 0.2), layer("dense", 2, 40, 40),
          layer("zero", 3, 60, 15), final_event(1)}}});
  const Table table = made("table", path_);
  EXPECT_NEAR(real(table, "zero", "speedup"), 1.5, 1e-12);
  EXPECT_NEAR(real(table, "zero", "speedup_ceiling"), 1 / (1 - 0.5 * 0.6), 1e-12);
  EXPECT_NEAR(real(table, "zero", "speedup_estimated"), 1 / (1 - 0.5 * 0.45), 1e-12);
  const std::string text = render(table, "md");
  EXPECT_NE(text.find("| ceiling | *estimated* |"), std::string::npos) << text;
  EXPECT_NE(text.find("*1.29×*"), std::string::npos) << text;
  // 45 of 100 multiply-accumulates are left out, and a third of the time.
  EXPECT_NEAR(real(table, "zero", "compute_reduction_pct"), 45, 1e-12);
  EXPECT_NEAR(real(table, "zero", "realisation"), (1 - 1 / 1.5) / 0.45, 1e-12);
  EXPECT_NE(text.find("| realised"), std::string::npos) << text;
  EXPECT_NE(text.find("| 0.74 (n=1) |"), std::string::npos) << text;
}

TEST_F(ThreeSeeds, TimeToTargetCountsRunsThatNeverReachIt) {
  fill_three();
  const Table table = made("tta", path_);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(count(table, "zero", "runs"), 3);
  EXPECT_EQ(count(table, "zero", "reached"), 1);
  EXPECT_NEAR(real(table, "zero", "fraction"), 1.0 / 3, 1e-12);
  // Two runs of 2 s that did not reach it and one of 2 s that did: 6 s a success.
  EXPECT_DOUBLE_EQ(real(table, "zero", "restart_s"), 6);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restricted_mean_s"), 2);
  EXPECT_DOUBLE_EQ(real(table, "dense", "restart_s"), 2.5);  // 2 + 2 + 1 s, two successes
  EXPECT_DOUBLE_EQ(real(table, "dense", "median_s"), 2);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "step_time_source")), "timing runs");
  // Seed 2 alone reached it in both, at 2 against 1 epochs: of it alone no ratio is made.
  EXPECT_EQ(at(table, "zero", "steps_ratio").index(), 0u);
  EXPECT_EQ(at(table, "zero", "speedup").index(), 0u);
  EXPECT_EQ(count(table, "zero", "pairs"), 3);
  EXPECT_EQ(count(table, "zero", "pairs_arrived"), 1);
  EXPECT_THAT(render(table, "md"), testing::HasSubstr("– (1/3 pairs arrived)"));
  EXPECT_THAT(render(table, "md"), testing::HasSubstr("flatter who fails more often"));

  // All arrive at the first evaluation: when before it nobody saw.
  const Table easier = made("tta", path_, {.target = 0.5});
  EXPECT_EQ(count(easier, "zero", "reached"), 3);
  EXPECT_EQ(std::get<std::string>(at(easier, "zero", "target_origin")), "given");
  EXPECT_EQ(count(easier, "zero", "pairs_arrived"), 3);
  EXPECT_EQ(count(easier, "zero", "same_evaluation"), 1);
  EXPECT_DOUBLE_EQ(real(easier, "zero", "steps_ratio"), 1);
  EXPECT_EQ(at(easier, "zero", "speedup").index(), 0u);
  EXPECT_THAT(render(easier, "md"), testing::HasSubstr("– (same evaluation)"));
}

// Composed: of the steps of all pairs and the step time of the timing runs.
TEST_F(ReportTest, TimeToTargetIsStepsAndStepTimes) {
  fill({accuracy("dense", 0, {0.1, 0.8}), accuracy("dense", 1, {0.8, 0.8}),
        accuracy("zero", 0, {0.8, 0.8}), accuracy("zero", 1, {0.8, 0.8}), timing("zero", 3000)},
       Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_NEAR(real(table, "zero", "steps_ratio"), std::sqrt(2), 1e-12);
  EXPECT_NEAR(real(table, "zero", "speedup"), 3 * std::sqrt(2), 0.01);
  EXPECT_EQ(count(table, "zero", "same_evaluation"), 0);
}

// A training that diverged is begun anew at once, and does not take the whole budget.
TEST_F(ReportTest, RestartsCountADivergedRunForAsLongAsItLasted) {
  Ran diverged{planned("zero", 0), accuracy_events({0.1}, RunState::kDiverged)};
  fill({diverged, accuracy("zero", 1, {0.1, 0.1, 0.8})}, Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restart_s"), 1 + 3);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restricted_mean_s"), 3);
}

// Processes of two machines differ by what the machines do, which no interval over them has.
TEST_F(ReportTest, ASpeedOfTwoMachinesHasNoVerdict) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < kProcessesForAVerdict; ++seed) {
    runs.push_back(timing("zero", 2000, seed));
    if (seed % 2 == 0) runs.back().environment = environment_of("fast");
  }
  runs.push_back(accuracy("dense", 0, {0.8}));
  fill(runs);
  EXPECT_THAT(std::get<std::string>(at(made("advice", path_), "zero", "reason")),
              testing::HasSubstr("its speed was timed on 2 machines"));
}

// Runs that reached the target early were watched on, so they do not shorten what the others are
// watched for; nor does one that diverged early.
TEST_F(ReportTest, TheBudgetIsHowLongTheRunsWereTrained) {
  Ran diverged{planned("random", 0), accuracy_events({0.1}, RunState::kDiverged)};
  fill({accuracy("dense", 0, {0.8, 0.8, 0.8}), accuracy("dense", 1, {0.8, 0.8, 0.8}),
        accuracy("zero", 0, {0.1, 0.2, 0.3}), accuracy("zero", 1, {0.1, 0.2, 0.8}), diverged},
       Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  for (const char* method : {"dense", "zero", "random"}) {
    EXPECT_DOUBLE_EQ(real(table, method, "budget_s"), 3) << method;
  }
  EXPECT_DOUBLE_EQ(real(table, "dense", "restricted_mean_s"), 1);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restricted_mean_s"), 3);
  EXPECT_DOUBLE_EQ(real(table, "random", "restricted_mean_s"), 3);
}

// Runs that something from outside ended had not reached the target by their last evaluation; more
// is not known of them, and less would be to leave them out. Of one that failed nobody knows.
TEST_F(ReportTest, RunsThatWereCutOffAreCensoredAtTheirLastEvaluation) {
  const auto cut = [](int64_t seed, const std::vector<double>& curve, RunState state) {
    Ran ran{planned("zero", seed), {}};
    for (size_t i = 0; i < curve.size(); ++i) {
      ran.events.push_back(accuracy_event(static_cast<int64_t>(i) + 1, curve[i]));
    }
    ran.end = {.state = state, .error = "ended from outside"};
    return ran;
  };
  fill({accuracy("zero", 0, {0.2, 0.8, 0.8, 0.8}), cut(1, {0.1, 0.2}, RunState::kTimeout),
        accuracy("zero", 2, {0.1, 0.1, 0.8, 0.8}), cut(3, {0.1}, RunState::kInterrupted),
        cut(4, {0.1}, RunState::kFailed), accuracy("zero", 5, {0.1, 0.1, 0.1, 0.1}),
        cut(6, {}, RunState::kLost)},  // nothing is known
       Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_EQ(count(table, "zero", "runs"), 5);
  EXPECT_EQ(count(table, "zero", "reached"), 2);
  EXPECT_EQ(count(table, "zero", "cut_off"), 2);
  // Kaplan and Meier: after 2 s one of four at risk (the run of 1 s is no more), after 3 s one of
  // two (nor that of 2 s): 3/4, then 3/8.
  EXPECT_DOUBLE_EQ(real(table, "zero", "median_s"), 3);
  EXPECT_DOUBLE_EQ(real(table, "zero", "budget_s"), 4);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restricted_mean_s"), 2 + 0.75 + 0.375);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restart_s"), (2 + 2 + 3 + 1 + 4) / 2.0);
  EXPECT_NE(render(table, "md").find("2 runs were cut off by a limit"), std::string::npos);
  const Table all = made("table", path_);
  EXPECT_EQ(count(all, "zero", "target_runs"), 5);
  EXPECT_EQ(count(all, "zero", "target_reached"), 2);
  EXPECT_NEAR(real(all, "zero", "accuracy_pct"), (80 + 80 + 10) / 3.0, 1e-9);
}

// Each letter below the table stands in it, and they begin with a.
TEST_F(ReportTest, TimesToATargetHaveTheirLettersWithoutGaps) {
  const auto text_with = [&](double zero, bool timed) {
    std::filesystem::remove(path_);
    std::vector<Ran> runs;
    for (int64_t seed = 0; seed < 2; ++seed) {
      runs.push_back(accuracy("dense", seed, {0.1, 0.8}));
      runs.push_back(accuracy("zero", seed, {zero, 0.8}));
      if (timed) runs.push_back(timing("zero", 2000, seed));
    }
    fill(runs, Target{"accuracy", 0.75});
    return render(made("tta", path_), "md");
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const std::string composed = text_with(0.8, true);
  EXPECT_TRUE(has(composed, "× [a] |") || has(composed, "] [a] |")) << composed;
  EXPECT_TRUE(has(composed, "- a: the speedup is composed") && has(composed, "- b: fewer than 5"));
  // Both arrive at the same evaluation, so there is no speedup to be composed.
  const std::string none = text_with(0.1, true);
  EXPECT_FALSE(has(none, "the speedup is composed")) << none;
  EXPECT_TRUE(has(none, "| dense [a]") && has(none, "- a: fewer than 5 seeds")) << none;
  const std::string shared = text_with(0.8, false);
  EXPECT_TRUE(has(shared, "- a: step times of the accuracy runs") &&
              has(shared, "- b: fewer than 5") && has(shared, "[a] |"))
      << shared;
}

// One that had reached it before it was cut off has reached it.
TEST_F(ReportTest, ACutOffRunMayHaveReachedTheTarget) {
  Ran late{planned("zero", 1), {accuracy_event(1, 0.8), accuracy_event(2, 0.7)}};
  late.end.state = RunState::kTimeout;
  fill({accuracy("zero", 0, {0.1, 0.1}), late}, Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_EQ(count(table, "zero", "runs"), 2);
  EXPECT_EQ(count(table, "zero", "reached"), 1);
  EXPECT_EQ(count(table, "zero", "cut_off"), 0);
}

// What ends at its target has a time and no accuracy; of a seed that also went to the end it is no
// second run.
TEST_F(ReportTest, RunsThatStopAtATargetHaveATimeAndNoAccuracy) {
  const auto stopped = [](const std::string& method, int64_t seed, std::vector<double> curve) {
    auto ran = accuracy(method, seed, std::move(curve));
    ran.plan.config.stop_at = 0.75;
    ran.plan.key += "/stops";
    return ran;
  };
  fill({accuracy("dense", 0, {0.1, 0.8, 0.9}), stopped("dense", 1, {0.76}),
        accuracy("zero", 0, {0.1, 0.2, 0.8}), stopped("zero", 0, {0.1, 0.2, 0.8}),
        stopped("zero", 1, {0.1, 0.77}), stopped("random", 0, {0.1, 0.78})},
       Target{"accuracy", 0.75});
  const Table table = made("table", path_);
  EXPECT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(count(table, "zero", "n"), 1);
  EXPECT_NEAR(real(table, "zero", "accuracy_pct"), 80, 1e-9);
  EXPECT_NEAR(real(table, "zero", "best_accuracy_pct"), 80, 1e-9);
  EXPECT_EQ(at(table, "random", "accuracy_pct").index(), 0u);
  EXPECT_EQ(count(table, "zero", "planned"), 2);
  EXPECT_EQ(count(table, "zero", "target_runs"), 2);
  const std::string notes = std::get<std::string>(at(table, "zero", "notes"));
  EXPECT_NE(notes.find("stopped at a target"), std::string::npos) << notes;

  const Table tta = made("tta", path_);
  EXPECT_EQ(count(tta, "zero", "runs"), 2);
  EXPECT_EQ(count(tta, "zero", "reached"), 2);
  EXPECT_EQ(count(tta, "zero", "stopped_at_target"), 1);
  // Those to the end say how far all were watched; those that stopped were not cut short.
  EXPECT_DOUBLE_EQ(real(tta, "zero", "budget_s"), 3);
  EXPECT_DOUBLE_EQ(real(tta, "random", "median_s"), 2);
  // Pairs: 2 s against 3 s of two whole runs, 1 s against 2 s of two that stopped.
  EXPECT_NEAR(real(tta, "zero", "steps_ratio"), std::sqrt(2.0 / 3 * 1.0 / 2), 1e-12);

  // A higher target than that at which they stopped: nothing is known of just those that were fast.
  const Table higher = made("tta", path_, {.target = 0.79});
  EXPECT_EQ(count(higher, "zero", "runs"), 1);
  EXPECT_NE(render(higher, "md").find("left out: 3 runs that stopped at a lower target"),
            std::string::npos)
      << render(higher, "md");
  EXPECT_EQ(count(made("tta", path_, {.target = 0.5}), "zero", "runs"), 2);

  EXPECT_EQ(query(path_, "SELECT method, seed FROM v_final ORDER BY 1, 2"),
            (std::vector<std::string>{"dense|0", "zero|0"}));
  for (const auto& violation : check_store(path_)) {
    EXPECT_EQ(violation.find("one grid"), std::string::npos) << violation;
    EXPECT_EQ(violation.find("views agree"), std::string::npos) << violation;
  }
}

TEST_F(ReportTest, TimesToTargetOfTwoMachinesAreNotPaired) {
  auto elsewhere = accuracy("zero", 0, {0.8});
  elsewhere.environment = environment_of("fast");
  fill({accuracy("dense", 0, {0.1, 0.8}), elsewhere, accuracy("zero", 1, {0.8})},
       Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_EQ(at(table, "zero", "steps_ratio").index(), 0u);
  EXPECT_EQ(at(table, "zero", "speedup").index(), 0u);
  EXPECT_NE(std::get<std::string>(at(table, "zero", "notes")).find("mixed hosts"),
            std::string::npos);
  EXPECT_EQ(at(table, "zero", "restricted_mean_s").index(), 0u);
  EXPECT_EQ(at(table, "dense", "budget_s").index(), 0u);
  EXPECT_NE(render(table, "md").find("no restricted mean where"), std::string::npos);
  const Table profile = made("profile", path_);
  EXPECT_EQ(profile.notes[0], "left out: lenet on mnist, whose times are of 2 machines");
  EXPECT_TRUE(profile.rows.empty());
}

TEST_F(ReportTest, TimesOfAnotherMachineThanTheExactOnesAreMarked) {
  auto zero = accuracy("zero", 0, {0.8}), random = accuracy("random", 0, {0.8});
  zero.environment = environment_of("fast");
  fill({accuracy("dense", 0, {0.1, 0.8}), zero, random}, Target{"accuracy", 0.75});
  const auto notes = [](const Table& table, const char* method) {
    return std::get<std::string>(at(table, method, "notes"));
  };
  const Table table = made("table", path_);
  EXPECT_NE(notes(table, "zero").find("times of another machine"), std::string::npos);
  EXPECT_EQ(notes(table, "random").find("times of another machine"), std::string::npos);
  // Where no seconds stand nobody can compare them.
  std::filesystem::remove(path_);
  fill({accuracy("dense", 0, {0.1, 0.8}), zero, random});
  EXPECT_EQ(notes(made("table", path_), "zero").find("times of another machine"),
            std::string::npos);
}

// A speedup of one machine dominates none of another.
TEST_F(ReportTest, EachMachineHasAFrontOfItsOwn) {
  auto slower = timing("random", 1500);
  slower.environment = environment_of("slow");
  const std::vector<Ran> trained = {accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.79}),
                                    accuracy("random", 0, {0.78}), timing("zero", 2000)};
  auto runs = trained;
  runs.push_back(slower);
  fill(runs);
  const Table table = made("pareto", path_);
  ASSERT_EQ(table.rows.size(), 4u);  // dense stands in both
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "front")), "yes");
  EXPECT_EQ(std::get<std::string>(at(table, "random", "front")), "yes");
  EXPECT_NE(at(table, "zero", "timed_on"), at(table, "random", "timed_on"));
  EXPECT_NE(render(table, "md").find("| timed on"), std::string::npos);
  // On one machine it is dominated, and nothing is said of machines.
  std::filesystem::remove(path_);
  runs.back() = timing("random", 1500);
  fill(runs);
  const Table one = made("pareto", path_);
  ASSERT_EQ(one.rows.size(), 3u);
  EXPECT_NE(std::get<std::string>(at(one, "random", "front")), "yes");
  EXPECT_EQ(render(one, "md").find("timed on"), std::string::npos);
}

TEST_F(ReportTest, AFrontNamesWhatHasHalfOfAPoint) {
  fill({accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.79}), accuracy("random", 0, {0.78}),
        timing("zero", 2000), timing("meprop", 1500)});
  const auto all = made("pareto", path_).notes;
  const std::string notes = fmt::format("{}", fmt::join(all, "\n"));
  EXPECT_NE(notes.find("left out, not timed: random"), std::string::npos) << notes;
  EXPECT_NE(notes.find("left out, not trained beside dense: meprop"), std::string::npos) << notes;
  EXPECT_EQ(notes.find("zero, "), std::string::npos) << notes;
}

// Of the steps that were timed, at the beginning of a training, less may be left out than later.
TEST_F(ReportTest, WhatIsRealisedIsOfTheStepsThatWereTimed) {
  const auto layer = [](double done) {
    return Json{{"event", "layer"},  {"layer", "conv"},   {"product", "weight_gradient"},
                {"method", "zero"},  {"calls", 1},        {"exact_calls", 0},
                {"macs_dense", 100}, {"macs_done", done}, {"density", nullptr}};
  };
  auto trained = accuracy("zero", 0, {0.8});
  trained.events.insert(trained.events.begin(), layer(40));
  auto timed = timing("zero", 1250);
  timed.events.insert(timed.events.begin(), layer(60));
  fill({accuracy("dense", 0, {0.8}), trained, timed});
  const Table table = made("table", path_);
  EXPECT_NEAR(real(table, "zero", "compute_reduction_pct"), 60, 1e-9);
  EXPECT_NEAR(real(table, "zero", "realisation"), 0.2 / 0.4, 0.01);
}

// The pairs that decide whether exact training of the same time is better are marked like others.
TEST_F(ReportTest, AdviceSaysWhereItsPairsAreFrom) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 6; ++seed) {
    runs.push_back(accuracy("dense", seed, {0.5, 0.8}));
    runs.push_back(accuracy("zero", seed, {0.5, 0.8}));
    runs.back().environment = environment_of("fast");
  }
  for (int64_t seed = 0; seed < 2; ++seed) runs.push_back(timing("zero", 2000, seed));
  fill(runs);
  const Table table = made("advice", path_);
  EXPECT_EQ(count(table, "zero", "iso_time_n"), 6);
  EXPECT_NE(std::get<std::string>(at(table, "zero", "notes")).find("pairs of different machines"),
            std::string::npos);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "machine")), "2 machines");
  EXPECT_NE(render(table, "md").find("in some pairs the dense run was made on another machine"),
            std::string::npos);
}

TEST_F(ReportTest, StepsToTargetOfTwoMachinesArePairedWhereTimingsSayHowLongOneTakes) {
  auto elsewhere = accuracy("zero", 0, {0.8});
  elsewhere.environment = environment_of("fast");
  fill({accuracy("dense", 0, {0.1, 0.8}), elsewhere, timing("zero", 3000)},
       Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_DOUBLE_EQ(real(table, "zero", "steps_ratio"), 2);
  EXPECT_NEAR(real(table, "zero", "speedup"), 6, 0.01);
}

// A smaller network that is only trained exactly is no workload and no front.
TEST_F(ReportTest, ControlsAreNoWorkloads) {
  auto smaller = accuracy("dense", 0, {0.8});
  smaller.plan.config.network = "smaller";
  smaller.plan.key += "smaller";
  Ran timing{planned("zero", 0, Purpose::kTiming),
             {block_event(0, "dense", 10, 200), block_event(0, "approx", 10, 100), final_event(1)}};
  fill({accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.8}), timing, smaller},
       Target{"accuracy", 0.75});
  const Table profile = made("profile", path_);
  EXPECT_FALSE(profile.rows.empty());
  for (const auto& note : profile.notes) EXPECT_EQ(note.find("left out"), std::string::npos);
  EXPECT_EQ(profile.notes[0].find("1 workload; "), 0U) << profile.notes[0];
  EXPECT_NE(profile.notes[0].find("; no bands, which take 10 workloads; "), std::string::npos);
  EXPECT_EQ(made("pareto", path_).rows.size(), 2u);
}

TEST_F(ReportTest, LayersStandInTheOrderOfTheNetwork) {
  const auto layer = [](const char* name, const char* product) {
    return Json{{"event", "layer"}, {"layer", name},  {"product", product},
                {"method", "zero"}, {"calls", 1},     {"exact_calls", 0},
                {"macs_dense", 2},  {"macs_done", 1}, {"density", nullptr}};
  };
  auto run = accuracy("zero", 0, {0.5});
  for (const char* name : {"a_last", "b_first", "added"}) {
    run.events.insert(run.events.begin(), layer(name, "forward"));
  }
  fill({run});
  Catalogue catalogue;
  catalogue.networks.emplace_back().name = "lenet";
  catalogue.networks[0].layers = {{.name = "b_first"}, {.name = "a_last"}};
  const auto names = [&](const Catalogue* known) {
    std::vector<std::string> found;
    for (const auto& row : made("layers", path_, {.catalogue = known}).rows) {
      found.push_back(
          fmt::format("{} {}", std::get<int64_t>(row[6]), std::get<std::string>(row[7])));
    }
    return found;
  };
  EXPECT_EQ(names(&catalogue), (std::vector<std::string>{"1 b_first", "2 a_last", "3 added"}));
  EXPECT_EQ(names(nullptr), (std::vector<std::string>{"1 a_last", "2 added", "3 b_first"}));
}

TEST_F(ReportTest, LayersSayWhatComputedThem) {
  auto run = accuracy("zero", 0, {0.5});
  const auto add = [&](const char* name, std::map<std::string, int64_t> variants) {
    run.events.push_back({{"event", "layer"},
                          {"layer", name},
                          {"product", "forward"},
                          {"method", "zero"},
                          {"calls", 1},
                          {"exact_calls", 0},
                          {"macs_dense", 2},
                          {"macs_done", 1},
                          {"density", nullptr}});
    for (const auto& [variant, calls] : variants) {
      run.events.push_back({{"event", "variant"},
                            {"layer", name},
                            {"product", "forward"},
                            {"plan", "PrunedDY"},
                            {"variant", variant},
                            {"calls", calls}});
    }
  };
  add("a_changing", {{"exact", 7}, {"sparse_rows", 92}, {"sparse_tiles", 1}});
  add("b_rarely", {{"exact", 999}, {"sparse_rows", 1}});
  add("c_always", {{"exact", 3}});
  add("d_unknown", {});  // as in runs of before
  fill({run});
  const Table table = made("layers", path_);
  const auto column = std::ranges::find(table.columns, "variants") - table.columns.begin();
  std::vector<std::string> texts;
  for (const auto& row : table.rows) {
    const auto& field = row[static_cast<size_t>(column)];
    const auto* text = std::get_if<std::string>(&field);
    texts.push_back(text == nullptr ? "-" : *text);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"sparse_rows 92 %, exact 7 %, sparse_tiles 1 %",
                                             "exact > 99 %, sparse_rows < 1 %", "exact", "-"}));
}

// What a random choice must keep as much as: of pruned gradients the entries, also where other
// products of the method were exact; of samples, which prune no gradient, the pairs.
TEST_F(ReportTest, DensitiesAreOfWhatTheRowsMethodKept) {
  const auto layer = [](const char* name, const char* method, int64_t dense, int64_t done,
                        const Json& density) {
    return Json{{"event", "layer"},    {"layer", name},     {"product", "weight_gradient"},
                {"method", method},    {"calls", 1},        {"exact_calls", 1},
                {"macs_dense", dense}, {"macs_done", done}, {"density", density}};
  };
  const auto ran = [](const char* method, const std::vector<Json>& layers) {
    auto run = accuracy(method, 0, {0.5});
    run.events.insert(run.events.begin(), layers.begin(), layers.end());
    return run;
  };
  const char* sampler = "sampler:ratio=0.5,share=0.8";
  fill({accuracy("dense", 0, {0.5}),
        ran("sampler:share=0.8",
            {layer("a", sampler, 100, 30, nullptr), layer("b", sampler, 300, 210, nullptr),
             layer("c", sampler, 100, 100, nullptr), layer("a", "dense", 100, 100, nullptr),
             layer("b", "zero:freeze=false", 100, 0, nullptr)}),
        ran("pruner",
            {layer("a", "pruner:p=0.9", 100, 60, 0.5), layer("b", "pruner:p=0.9", 300, 300, 0.25),
             layer("c", "pruner:p=0.9", 100, 100, nullptr)}),
        ran("uncounted", {})});
  const auto densities = stored_rows(Snapshot(path_), "test:one").densities;
  ASSERT_EQ(densities.size(), 2u);
  EXPECT_DOUBLE_EQ(densities.at({"sampler:share=0.8", "all", "LeNet"}), 240.0 / 400);
  EXPECT_DOUBLE_EQ(densities.at({"pruner", "all", "LeNet"}), (50 + 75.0) / 400);
}

// Runs of before counted the data gradient of the layer that reads the images, which nobody
// computes.
TEST_F(ReportTest, NoGradientOfTheImagesIsCounted) {
  const auto layer = [](const char* name, const char* product) {
    return Json{{"event", "layer"},  {"layer", name},  {"product", product},
                {"method", "dense"}, {"calls", 1},     {"exact_calls", 1},
                {"macs_dense", 2},   {"macs_done", 2}, {"density", nullptr}};
  };
  auto run = accuracy("zero", 0, {0.5});
  for (const char* name : {"first", "second"}) {
    for (const char* product : {"forward", "data_gradient"}) {
      run.events.insert(run.events.begin(), layer(name, product));
    }
  }
  fill({run});
  Catalogue catalogue;
  catalogue.networks.emplace_back().name = "lenet";
  catalogue.networks[0].layers = {{.name = "first", .reads_images = true}, {.name = "second"}};
  const auto lines = [&](const Catalogue* known) {
    std::vector<std::string> found;
    for (const auto& row : made("layers", path_, {.catalogue = known}).rows) {
      found.push_back(std::get<std::string>(row[7]) + " " + std::get<std::string>(row[8]));
    }
    return found;
  };
  EXPECT_EQ(lines(nullptr).size(), 4u);
  EXPECT_EQ(lines(&catalogue),
            (std::vector<std::string>{"first forward", "second data_gradient", "second forward"}));
}

// A later version of a method, or other data under the same name, has another key.
TEST_F(ReportTest, WhatAnEarlierVersionMeasuredIsNoFurtherSeed) {
  auto later = accuracy("zero", 0, {0.5});
  later.plan.key += "-v2";
  fill({accuracy("dense", 0, {0.75}), accuracy("zero", 0, {0.25}), accuracy("zero", 1, {0.5}),
        later});
  const Table table = made("table", path_);
  EXPECT_EQ(count(table, "zero", "n"), 2);
  EXPECT_DOUBLE_EQ(real(table, "zero", "accuracy_pct"), 50);
  EXPECT_EQ(table.notes.back(),
            "left out: a run of zero, measured with earlier data or an earlier version of method, "
            "network or kernel rules");
}

TEST_F(ReportTest, ARowOfAnEarlierTextOfTheFileIsCalledSo) {
  auto later = accuracy("zero", 0, {0.5});
  later.plan.config.schedule = {Rule{.steps = "::4"}};
  later.plan.key += "-other-schedule";
  fill({accuracy("dense", 0, {0.75}), accuracy("zero", 0, {0.25}), later});
  const Table table = made("table", path_);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(std::get<std::string>(table.rows[0][2]), "");
  EXPECT_EQ(std::get<std::string>(table.rows[1][2]), "all (earlier)");
  EXPECT_EQ(std::get<std::string>(table.rows[2][2]), "all");
}

TEST_F(ReportTest, ALongErrorIsCutBetweenCharacters) {
  auto failed = accuracy("zero", 0, {});
  failed.events.clear();
  failed.end.state = RunState::kFailed;
  failed.end.error = std::string(76, 'x') + "\u2013 and so on";  // three bytes at 76
  fill({failed});
  const Table table = made("runs", path_);
  EXPECT_EQ(table.text_rows[0].back(), std::string(76, 'x') + "...");
}

TEST_F(ReportTest, WithoutATargetItComesFromDense) {
  fill({accuracy("dense", 0, {0.5, 0.75}), accuracy("zero", 0, {0.5, 0.7})});
  const Table table = made("tta", path_, {.margin = 5});
  EXPECT_NEAR(real(table, "zero", "target_pct"), 70, 1e-9);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "target_origin")),
            "median best of 1 dense run less 5 points");
}

TEST_F(ThreeSeeds, TheFrontHasDenseAndWhatIsFaster) {
  fill_three();
  const Table table = made("pareto", path_);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(at(table, "dense", "front")), "yes");
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "front")), "yes");  // faster, and loses more
  EXPECT_NEAR(real(table, "zero", "loss_pp"), 8.33333, 1e-4);
}

TEST_F(ThreeSeeds, CurvesHaveAPointForEachEvaluation) {
  fill_three();
  const Table table = made("curves", path_);
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(count(table, "dense", "n"), 3);
  EXPECT_NEAR(real(table, "dense", "mean"), (0.5 + 0.5 + 0.8125) / 3, 1e-12);
  EXPECT_DOUBLE_EQ(real(table, "dense", "max"), 0.8125);
}

// Dense and zero for four epochs, evaluated after each, and zero timed at `speedup` times as fast.
// Zero ends a tenth of a point below dense, give or take a hundredth; `dense_at_two`: how far below
// its own end dense is after two epochs.
class WorthTest : public ReportTest {
 protected:
  struct Case {
    int64_t seeds = 6, processes = kProcessesForAVerdict;
    double dense_at_two = 0.05, loss = 0.001, speedup = 2;
    RateSchedule rate = RateSchedule::kConstant;
  };

  void fill_case(const Case& given) {
    std::vector<Ran> runs;
    for (int64_t seed = 0; seed < given.seeds; ++seed) {
      const double end = 0.9 + 0.001 * static_cast<double>(seed);
      const double ours = end - given.loss + 0.0002 * static_cast<double>(seed % 2);
      runs.push_back(accuracy("dense", seed, {0.6, end - given.dense_at_two, end - 0.0004, end}));
      runs.push_back(accuracy("zero", seed, {0.5, 0.6, 0.7, ours}));
    }
    for (int64_t seed = 0; seed < given.processes; ++seed) {
      runs.push_back(timing("zero", static_cast<int64_t>(1000 * given.speedup), seed, 0));
    }
    for (auto& run : runs) {
      run.plan.config.recipe.epochs = 4;
      run.plan.config.recipe.lr_schedule = given.rate;
    }
    std::filesystem::remove(path_);
    fill(runs);
  }

  // "yes, by speed, loss, same time".
  std::string worth(const Case& given, const ReportOptions& options = {}) {
    fill_case(given);
    const Table table = made("advice", path_, options);
    return std::get<std::string>(at(table, "zero", "worth")) + ", by " +
           std::get<std::string>(at(table, "zero", "decided_by"));
  }
};

TEST_F(WorthTest, YesNeedsThreeThings) {
  EXPECT_EQ(worth({}), "yes, by speed, loss, same time");
  const Table table = made("advice", path_);
  EXPECT_NEAR(real(table, "zero", "iso_time_pp"), -5 + 0.1 - 0.01, 1e-9);
  EXPECT_EQ(count(table, "zero", "iso_time_n"), 6);
  EXPECT_NEAR(real(table, "zero", "iso_time_epochs"), 2, 0.01);
  // A tenth of an error of 9.75 %.
  EXPECT_NEAR(real(table, "zero", "margin_pp"), 0.975, 1e-9);

  EXPECT_EQ(worth({.loss = 0.03}), "no, by loss");
  EXPECT_EQ(worth({.speedup = 0.9}), "no, by speed");
  EXPECT_EQ(worth({}, {.margin = 0.05}), "no, by loss") << "a margin of points";
  EXPECT_EQ(worth({}, {.margin = Margin::of_error(0.005)}), "no, by loss");
}

// Exact training that stops when the method is done is the method to beat.
TEST_F(WorthTest, AnExactTrainingOfTheSameTimeDecides) {
  EXPECT_EQ(worth({.dense_at_two = 0}), "no, by same time");
  // How long the method surely takes few processes do not know.
  EXPECT_EQ(worth({.processes = 9, .dense_at_two = 0}), "undecided, by speed, same time");
  EXPECT_EQ(worth({.dense_at_two = 0.0009}), "undecided, by same time");
  // Two and a half epochs fit: the evaluation after three counts, which gives dense the more time,
  // so that it is not beaten by it and does not beat by it either.
  EXPECT_EQ(worth({.speedup = 1.6}), "undecided, by same time");
  EXPECT_THAT(std::get<std::string>(at(made("advice", path_), "zero", "reason")),
              testing::HasSubstr("whose 3.00 epochs may be longer"));
  EXPECT_NEAR(real(made("advice", path_), "zero", "iso_time_pp"), -0.04 + 0.1 - 0.01, 1e-9);
  // Half of a decaying learning rate is no training of half the time.
  EXPECT_EQ(worth({.rate = RateSchedule::kCosine}), "undecided, by same time");
  EXPECT_EQ(std::get<std::string>(at(made("advice", path_), "zero", "reason")),
            "no exact training of the same time (sweep --controls iso-time)");
}

TEST_F(WorthTest, FiveSeedsAreTooFewForAnyWord) {
  EXPECT_EQ(worth({.seeds = 5}), "undecided, by loss, same time");
  EXPECT_EQ(worth({.seeds = 5, .loss = 0.03}), "undecided, by loss, same time");
}

// The target is dense's median less half a point; after two epochs dense is five below it.
TEST_F(WorthTest, TimeToTargetStandsBesideIt) {
  fill_case({});
  const Table table = made("advice", path_);
  EXPECT_EQ(count(table, "zero", "target_runs"), 6);
  EXPECT_GT(count(table, "zero", "target_reached"), 0);
  EXPECT_EQ(count(table, "zero", "iso_time_runs"), 6);
  EXPECT_EQ(count(table, "zero", "iso_time_reached"), 0);
  fill_case({.dense_at_two = 0});
  EXPECT_GT(count(made("advice", path_), "zero", "iso_time_reached"), 0);
}

TEST(MarginTest, IsInPointsOrAShareOfTheDenseError) {
  EXPECT_EQ(parse_margin("0.5")->points(30), 0.5);
  EXPECT_EQ(parse_margin(" 2 pp")->text(), "2 points");
  EXPECT_EQ(parse_margin("10%")->points(30), 3);
  EXPECT_EQ(parse_margin("10 %")->text(), "10 % of the dense error");
  for (const char* wrong : {"", "x", "0", "-1", "101", "0%", "nan", "1%%", "5pp%", "inf"}) {
    EXPECT_FALSE(parse_margin(wrong)) << wrong;
  }
}

TEST_F(ReportTest, AdviceRestsOnTenProcesses) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 6; ++seed) {
    runs.push_back(accuracy("dense", seed, {0.9}));
    runs.push_back(accuracy("zero", seed, {0.9}));
  }
  for (int64_t seed = 0; seed < 9; ++seed) runs.push_back(timing("zero", 1200, seed));
  fill(runs);
  const Table table = made("advice", path_);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "worth")), "undecided");
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "reason"))
                .find("its speed was timed in 9 processes, a verdict needs 10"),
            0u);
}

// A single process cannot tell how processes differ: its estimate stands, marked.
TEST_F(ReportTest, OneTimingProcessHasNoInterval) {
  fill({timing("zero", 2000)});
  const Table table = made("table", path_);
  EXPECT_NEAR(real(table, "zero", "speedup"), 2, 0.01);
  EXPECT_EQ(at(table, "zero", "speedup_lo").index(), 0u);
  EXPECT_EQ(count(table, "zero", "speedup_block_pairs"), 4);
  EXPECT_EQ(count(table, "zero", "speedup_runs"), 1);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")), "few processes");
  EXPECT_NE(render(table, "md").find("| 2.00× (n=1) "), std::string::npos);
}

// A tenth of an error that nobody measured is no number.
TEST_F(ReportTest, WhatWasTimedAloneHasNoMargin) {
  fill({timing("zero", 2000)});
  const Table table = made("advice", path_);
  EXPECT_EQ(at(table, "zero", "margin_pp").index(), 0u);
  EXPECT_NE(std::get<std::string>(at(table, "zero", "reason")).find("not measured beside dense"),
            std::string::npos);
}

// Stored before equal runs had one key: an idle setting, layers in another order, a zero's sign.
TEST_F(ReportTest, ARunStoredUnderTwoSpellingsCountsOnce) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 6; ++seed) {
    runs.push_back(accuracy("dense", seed, {0.9}));
    for (const char* layers : {"2,4,6", "6,4,2"}) {
      auto& run = runs.emplace_back(accuracy("random:std=0", seed, {0.8}));
      run.plan.config.schedule = {Rule{.layers = layers}};
      run.plan.key += layers;
      if (layers[0] == '2') continue;
      run.plan.config.recipe.decay = 0.5;
      run.plan.config.method = "random:std=-0";
    }
  }
  fill(runs);
  const Table table = made("table", path_);
  EXPECT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(count(table, "random:std=0", "n"), 6);
  EXPECT_EQ(table.notes.back(),
            "left out: 6 runs of random:std=0, stored a second time with settings that are written "
            "differently");
}

TEST_F(ReportTest, ATimingByEarlierKernelRulesIsCalledSo) {
  auto earlier = timing("zero", 2000);
  earlier.environment["engine"].erase("kernel_rules");  // as before there was a second version
  fill({earlier});
  EXPECT_EQ(std::get<std::string>(at(made("table", path_), "zero", "notes")),
            "few processes; earlier kernel rules");
}

// What is approximated takes a fifth of a step, so nothing can be more than 1.25 times as fast.
TEST_F(ReportTest, ASpeedupAboveItsCeilingIsMarkedAndDecidesNothing) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 6; ++seed) {
    runs.push_back(accuracy("dense", seed, {0.9}));
    runs.push_back(accuracy("zero", seed, {0.9}));
  }
  for (int64_t seed = 0; seed < kProcessesForAVerdict; ++seed) {
    auto& run = runs.emplace_back(timing("zero", 1500 + seed, seed));
    run.events.push_back({{"event", "metric"},
                          {"name", "phase_share"},
                          {"split", "forward"},
                          {"step", 8},
                          {"epoch", 0.5},
                          {"train_ns", 1},
                          {"value", 0.2}});
    run.events.push_back({{"event", "layer"},
                          {"layer", "conv"},
                          {"product", "forward"},
                          {"method", "zero"},
                          {"calls", 1},
                          {"exact_calls", 0},
                          {"macs_dense", 2},
                          {"macs_done", 1},
                          {"density", nullptr}});
  }
  fill(runs);
  const Table table = made("table", path_);
  EXPECT_NEAR(real(table, "zero", "speedup_ceiling"), 1.25, 1e-12);
  EXPECT_GT(real(table, "zero", "speedup_lo"), 1.25);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")), "above its ceiling");
  const Table advice = made("advice", path_);
  EXPECT_EQ(std::get<std::string>(at(advice, "zero", "worth")), "undecided");
  EXPECT_EQ(std::get<std::string>(at(advice, "zero", "reason"))
                .find("its speedup lies above its own ceiling"),
            0u);
}

// A run of rules that never came to hold is an exact one: it loses nothing, and says nothing.
TEST_F(ReportTest, AMethodThatApproximatedNothingIsMarked) {
  const auto layer = [](const char* method, int64_t done, const Json& density) {
    return Json{{"event", "layer"},  {"layer", "conv"},   {"product", "weight_gradient"},
                {"method", method},  {"calls", 1},        {"exact_calls", 0},
                {"macs_dense", 100}, {"macs_done", done}, {"density", density}};
  };
  const auto planned = [](const char* plan) {
    return Json{{"event", "variant"}, {"layer", "conv"},     {"product", "weight_gradient"},
                {"plan", plan},       {"variant", "packed"}, {"calls", 1}};
  };
  const std::map<std::string, std::vector<Json>> events = {
      {"exact", {layer("dense", 100, nullptr)}},
      {"whole", {layer("whole", 100, nullptr)}},
      {"planned", {layer("planned", 100, nullptr), planned("Dense")}},
      // Signs, noise and rounding leave nothing out and are no exact training.
      {"signs", {layer("signs", 100, 1.0)}},
      {"signs_planned", {layer("signs_planned", 100, 1.0), planned("PrunedDY")}},
      {"rounded", {layer("rounded", 100, 1.0), planned("Dense")}},
      {"scaled", {layer("scaled", 100, nullptr), planned("Sampled")}},
      {"at_times", {layer("at_times", 100, nullptr), planned("Dense"), planned("PrunedDY")}},
      {"less", {layer("less", 99, nullptr)}},
      {"pruned", {layer("pruned", 100, 0.5)}},
      {"uncounted", {block_event(0, "dense", 1, 1)}}};
  std::vector<Ran> runs = {accuracy("dense", 0, {0.8})};
  for (const auto& [method, of_run] : events) {
    auto& run = runs.emplace_back(accuracy(method, 0, {0.8}));
    run.events.insert(run.events.begin(), of_run.begin(), of_run.end());
  }
  fill(runs);
  const Table table = made("table", path_);
  std::set<std::string> marked;
  for (const auto& [method, of_run] : events) {
    const auto notes = std::get<std::string>(at(table, method, "notes"));
    if (notes.find("approximated nothing") != std::string::npos) marked.insert(method);
  }
  EXPECT_EQ(marked, (std::set<std::string>{"exact", "whole", "planned"}));
}

// The counts of several ranks are those of one, and its schedule may name others.
TEST_F(ReportTest, OfSeveralRanksNobodyKnowsThatNothingWasApproximated) {
  auto run = accuracy("zero", 0, {0.8});
  run.plan.config.ranks = 2;
  run.events.insert(run.events.begin(), {{"event", "layer"},
                                         {"layer", "conv"},
                                         {"product", "weight_gradient"},
                                         {"method", "dense"},
                                         {"calls", 1},
                                         {"exact_calls", 1},
                                         {"macs_dense", 100},
                                         {"macs_done", 100},
                                         {"density", nullptr}});
  fill({run});
  EXPECT_EQ(
      std::get<std::string>(at(made("table", path_), "zero", "notes")).find("approximated nothing"),
      std::string::npos);
}

// A data set may have fewer images than a batch wants.
TEST_F(ReportTest, ImagesASecondAreOfTheImagesThatAStepHad) {
  auto whole = timing("zero", 2000), fewer = timing("random", 2000);
  fewer.environment["batch_images"] = 58;
  fill({whole, fewer});
  const Table table = made("table", path_);
  // Ten steps in 1000 ns.
  EXPECT_NEAR(real(table, "zero", "images_per_s"), 100 * 1e9 / 100, 1);
  EXPECT_NEAR(real(table, "random", "images_per_s"), 58 * 1e9 / 100, 1);
}

// Whether steps are graphs decides nothing of a training, and its key says nothing of it.
TEST_F(ReportTest, AccuraciesArePairedWhateverTheirGraphs) {
  auto dense = accuracy("dense", 0, {0.8}), zero = accuracy("zero", 0, {0.7});
  dense.plan.config.device = zero.plan.config.device = DeviceKind::kCuda;
  zero.plan.config.graphs = GraphUse::kOff;
  auto timed = timing("zero", 2000);
  timed.plan.config.device = DeviceKind::kCuda;
  timed.plan.config.graphs = GraphUse::kOff;
  fill({dense, zero, timed});
  const Table table = made("table", path_);
  EXPECT_EQ(table.rows.size(), 2u) << "accuracies and timings stand together";
  EXPECT_NEAR(real(table, "zero", "loss_pp"), 10, 1e-9);
  EXPECT_NEAR(real(table, "zero", "speedup"), 2, 0.01);
}

// The exact training of the same time has as long as the method may take: what has less may show
// that the method is worse, and not that it is better.
TEST_F(ReportTest, TheControlHasAsLongAsTheMethodMayTake) {
  std::vector<Ran> runs;
  const auto add_control = [&](int64_t epochs, double last_epoch, double lead) {
    for (int64_t seed = 0; seed < 6; ++seed) {
      Ran run = accuracy("dense", seed, {0.8 + lead + 0.001 * static_cast<double>(seed)});
      for (auto& event : run.events) {
        if (event.contains("epoch")) {
          event["epoch"] = static_cast<double>(epochs - 1) + last_epoch;
        }
      }
      run.plan.config.recipe.epochs = epochs;
      run.plan.config.recipe.last_epoch = last_epoch;
      run.plan.config.recipe.lr_schedule = RateSchedule::kCosine;
      run.plan.config.recipe.eval_every = 1;
      run.plan.method_label = "dense in the time of zero";
      run.plan.key += fmt::format("-control-{}-{}", epochs, last_epoch);
      runs.push_back(run);
    }
  };
  for (int64_t seed = 0; seed < 6; ++seed) {
    for (const char* method : {"dense", "zero"}) {
      Ran run = accuracy(method, seed, {0.8 + 0.001 * static_cast<double>(seed)});
      run.plan.config.recipe.epochs = 4;
      run.plan.config.recipe.lr_schedule = RateSchedule::kCosine;
      runs.push_back(run);
    }
  }
  for (int64_t seed = 0; seed < kProcessesForAVerdict; ++seed) {
    // From 1.25 down to about 1.235: 3.2 epochs fit, or up to 3.24.
    runs.push_back(timing("zero", 1225 + 50 * (seed % 2), seed));
    runs.back().plan.config.recipe.epochs = 4;
    runs.back().plan.config.recipe.lr_schedule = RateSchedule::kCosine;
  }
  const auto advice = [&] {
    std::filesystem::remove(path_);
    fill(runs);
    return made("advice", path_);
  };
  const auto worth = [](const Table& table) {
    return std::get<std::string>(at(table, "zero", "worth"));
  };
  add_control(4, 0.15, -0.04);  // more than a fiftieth of the training away
  add_control(4, 0.33, 0.04);
  EXPECT_EQ(count(advice(), "zero", "iso_time_n"), 0);
  add_control(4, 0.2, -0.02);  // as long as the method takes by the estimate
  Table table = advice();
  EXPECT_NEAR(real(table, "zero", "iso_time_pp"), -2, 1e-9);
  EXPECT_NEAR(real(table, "zero", "iso_time_trained"), 3.2, 1e-9);
  EXPECT_NEAR(real(table, "zero", "iso_time_epochs"), 3.24, 0.015);
  EXPECT_NEAR(real(table, "zero", "iso_time_p"), 2.0 / 64, 1e-9);
  EXPECT_EQ(worth(table), "undecided");
  EXPECT_NE(std::get<std::string>(at(table, "zero", "reason")).find("which had 3.20 of the 3.2"),
            std::string::npos);
  add_control(4, 0.29, -0.01);
  table = advice();
  EXPECT_NEAR(real(table, "zero", "iso_time_trained"), 3.29, 1e-9);
  EXPECT_EQ(worth(table), "yes");
  add_control(4, 0.27, 0.01);  // of those that have enough the shortest
  table = advice();
  EXPECT_NEAR(real(table, "zero", "iso_time_trained"), 3.27, 1e-9);
  EXPECT_EQ(worth(table), "undecided");
  EXPECT_THAT(std::get<std::string>(at(table, "zero", "reason")),
              testing::HasSubstr("whose 3.27 epochs may be longer"));
  add_control(4, 0.14, 0.02);  // the method surely takes 3.148
  table = advice();
  EXPECT_EQ(worth(table), "no");
  EXPECT_THAT(
      std::get<std::string>(at(table, "zero", "reason")),
      testing::HasSubstr("-2.00 ± 0.00 points ahead of dense in no more time, 3.14 epochs"));
  // A control has the learning rate of the exact training, whichever the method was tuned to.
  for (auto& run : runs) {
    if (run.plan.method_label == "zero") run.plan.config.recipe.learning_rate = 0.7;
  }
  const auto tuned_advice = [&] {
    std::filesystem::remove(path_);
    fill(runs);
    auto trials = experiment_of({runs.front().plan});
    trials.id += ":tune";
    RunStore(path_, Mode::kWrite).add_experiment(trials, "sweep --tune");
    return made("advice", path_);
  };
  EXPECT_NEAR(real(tuned_advice(), "zero", "iso_time_trained"), 3.27, 1e-9);
  for (auto& run : runs) {
    if (run.plan.config.recipe.last_epoch == 0.27) run.plan.config.recipe.learning_rate = 0.7;
  }
  EXPECT_NEAR(real(tuned_advice(), "zero", "iso_time_trained"), 3.29, 1e-9);
}

// An exact training that is of two experiments is the partner of both, whichever was first.
TEST_F(ReportTest, ATunedExperimentAndOneAtItsRateShareTheirExactTraining) {
  std::vector<PlannedRun> tuned, other;
  for (int64_t seed = 0; seed < 2; ++seed) {
    tuned.push_back(planned("dense", seed));
    other.push_back(planned("dense", seed));
    other.back().network_label = "elsewhere";
    tuned.push_back(planned("zero", seed));
    tuned.back().config.recipe.learning_rate = 0.7;
    other.push_back(planned("random", seed));
  }
  other.push_back(planned("dense", 2));
  auto experiments = std::vector{experiment_of(tuned), experiment_of(other)};
  auto trials = experiment_of({planned("dense", 100)});
  trials.id = experiments[0].id + ":tune";
  experiments[1].id = "test:other";
  for (const bool tuned_first : {true, false}) {
    std::filesystem::remove(path_);
    if (!tuned_first) std::swap(experiments[0], experiments[1]);
    {
      RunStore store(path_, Mode::kWrite);
      for (const auto& experiment : experiments) store.add_experiment(experiment, "sweep");
      store.add_experiment(trials, "sweep --tune");
      std::set<std::string> done;
      for (const auto& experiment : experiments) {
        for (const auto& run : experiment.runs()) {
          if (!done.insert(run.key).second) continue;
          const auto id = store.begin(run.key, environment_of(), folder_ / "runs");
          ASSERT_TRUE(id) << run.key;
          store.finish(*id, accuracy_events({0.5}), {});
        }
      }
    }
    const Table table = made("table", path_);
    EXPECT_EQ(table.rows.size(), 3U) << tuned_first;
    EXPECT_EQ(count(table, "dense", "n"), 3) << tuned_first;
    EXPECT_EQ(count(table, "zero", "loss_pairs"), 2) << tuned_first;
    EXPECT_EQ(count(table, "random", "loss_pairs"), 2) << tuned_first;
    EXPECT_EQ(std::get<std::string>(at(table, "dense", "network")),
              tuned_first ? "LeNet" : "elsewhere");
    // The rate is a row's own, and no setting that would put it into a panel of its own.
    EXPECT_EQ(std::get<std::string>(at(table, "zero", "tuned_rate")), "0.7") << tuned_first;
    EXPECT_EQ(std::get<std::string>(at(table, "random", "tuned_rate")), "") << tuned_first;
    EXPECT_EQ(std::get<std::string>(at(table, "zero", "setting")), "") << tuned_first;
    const Table curves = made("curves", path_, {.experiment = "test:one"});
    for (const auto& row : curves.rows) EXPECT_EQ(std::get<std::string>(row[2]), "");
    // Asked for by itself, each has its own.
    const auto alone = [&](const std::string& id) {
      return made("table", path_, {.experiment = id});
    };
    EXPECT_EQ(count(alone("test:other"), "random", "loss_pairs"), 2) << tuned_first;
    EXPECT_EQ(std::get<std::string>(at(alone("test:other"), "dense", "network")), "elsewhere");
  }
}

// The control that a row is held against has all of its settings but those that are shortened.
TEST_F(ReportTest, AControlOfOtherSettingsControlsNothing) {
  std::vector<Ran> runs;
  const auto control = [](int64_t seed, int64_t batch, double accuracy) {
    Ran run = ReportTest::accuracy("dense", seed, {0.5, accuracy});
    run.plan.config.recipe.epochs = 2;
    run.plan.config.recipe.lr_schedule = RateSchedule::kCosine;
    run.plan.config.recipe.eval_every = 1;
    run.plan.config.batch_size = batch;
    run.plan.method_label = "dense in the time of zero";
    run.plan.key += fmt::format("-control-{}", batch);
    return run;
  };
  for (int64_t seed = 0; seed < 6; ++seed) {
    const double base = 0.8 + 0.001 * static_cast<double>(seed);
    for (const char* method : {"dense", "zero"}) {
      Ran run = accuracy(method, seed, {base});
      run.plan.config.recipe.epochs = 4;
      run.plan.config.recipe.lr_schedule = RateSchedule::kCosine;
      runs.push_back(run);
    }
    runs.push_back(control(seed, 32, base + 0.05));
  }
  for (int64_t seed = 0; seed < kProcessesForAVerdict; ++seed) {
    runs.push_back(timing("zero", 2000, seed, 0));
    runs.back().plan.config.recipe.epochs = 4;
    runs.back().plan.config.recipe.lr_schedule = RateSchedule::kCosine;
  }
  fill(runs);
  EXPECT_EQ(std::get<std::string>(at(made("advice", path_), "zero", "worth")), "undecided");
  EXPECT_EQ(count(made("advice", path_), "zero", "iso_time_n"), 0);
  for (int64_t seed = 0; seed < 6; ++seed) {
    runs.push_back(control(seed, 100, 0.85 + 0.001 * static_cast<double>(seed)));
  }
  std::filesystem::remove(path_);
  fill(runs);
  EXPECT_EQ(std::get<std::string>(at(made("advice", path_), "zero", "worth")), "no");
  EXPECT_NEAR(real(made("advice", path_), "zero", "iso_time_pp"), 5, 1e-9);
}

TEST_F(ReportTest, AComparisonThatCannotTellSaysSo) {
  const std::string other = folder_ / "other.db";
  const auto timing = [](int64_t pairs, int64_t fast, int64_t slow) {
    Ran ran{planned("zero", 0, Purpose::kTiming), {}};
    for (int64_t pair = 0; pair < pairs; ++pair) {
      ran.events.push_back(block_event(pair, "dense", 10, 1000));
      ran.events.push_back(block_event(pair, "approx", 10, pair % 2 == 0 ? fast : slow));
    }
    ran.events.push_back(final_event(1));
    return ran;
  };
  fill({accuracy("dense", 0, {0.5}), accuracy("dense", 1, {0.6}), accuracy("dense", 2, {0.7}),
        accuracy("zero", 1, {0.4}), timing(4, 900, 1100)});
  fill_store(other,
             {accuracy("dense", 0, {0.5}), accuracy("zero", 2, {0.2}), timing(4, 950, 1150)});
  std::vector<Change> failures;
  const Table table = report_compare(Snapshot(path_), Snapshot(other), {}, &failures);
  ASSERT_EQ(table.rows.size(), 3u);
  const auto verdict = [&](size_t row) { return std::get<std::string>(table.rows[row][7]); };
  EXPECT_EQ(verdict(0), "same") << "dense: three seeds against one of them";
  EXPECT_EQ(verdict(1), "undecided") << "zero: no seed in common";
  EXPECT_EQ(verdict(2), "undecided") << "zero: 5 % slower, give or take ten";
  EXPECT_TRUE(failures.empty());
}

TEST_F(ReportTest, ComparesTwoStores) {
  fill({accuracy("dense", 0, {0.5}), accuracy("zero", 0, {0.4})});
  std::vector<Change> failures;
  EXPECT_EQ(report_compare(Snapshot(path_), Snapshot(path_), {}, &failures).rows.size(), 2u);
  EXPECT_TRUE(failures.empty());
  const std::string other = folder_ / "other.db";
  fill_store(other, {accuracy("zero", 0, {0.41})});
  const Table table = report_compare(Snapshot(path_), Snapshot(other), {}, &failures);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_NEAR(std::get<double>(table.rows[0][4]), 1, 1e-9);
  EXPECT_EQ(failures, std::vector{Change::kDiffers});  // equal runs give equal numbers
}

// A mean of those that did not diverge flatters: what diverged in one store alone decides.
TEST_F(ReportTest, AComparisonCountsRunsThatDiverged) {
  const auto diverged = [](int64_t seed) {
    return Ran{planned("zero", seed), accuracy_events({}, RunState::kDiverged)};
  };
  std::vector<Ran> all, some, none;
  for (int64_t seed = 0; seed < 6; ++seed) {
    const Ran finished = accuracy("zero", seed, {0.5 + 0.01 * static_cast<double>(seed)});
    all.push_back(finished);
    some.push_back(seed < 4 ? diverged(seed) : finished);
    none.push_back(diverged(seed));
  }
  const std::string a = folder_ / "all.db", b = folder_ / "some.db", c = folder_ / "none.db";
  fill_store(a, all), fill_store(b, some), fill_store(c, none);
  const auto verdict = [](const std::string& before, const std::string& after) {
    const Table table = report_compare(Snapshot(before), Snapshot(after), {});
    return table.rows.size() == 1 ? std::get<std::string>(table.rows[0][7]) : "no such row";
  };
  EXPECT_EQ(verdict(a, b), "inferior");
  EXPECT_EQ(verdict(a, c), "inferior");
  EXPECT_EQ(verdict(b, a), "better");
  EXPECT_EQ(verdict(b, b), "same") << "the same seeds in both";
  const Table table = report_compare(Snapshot(a), Snapshot(c), {});
  EXPECT_EQ(table.text_rows[0][3], "–, 6 diverged");
  EXPECT_EQ(table.rows[0][3], Field());
  // Of other seeds nothing is known.
  std::vector<Ran> others = {diverged(8), accuracy("zero", 9, {0.5})};
  fill_store(folder_ / "others.db", others);
  EXPECT_EQ(verdict(a, folder_ / "others.db"), "undecided");
}

// Two values a side may lie close together by chance, and processes differ.
TEST_F(ReportTest, AComparisonTakesSixSeedsAndTenProcesses) {
  const auto of = [](int64_t seeds, double accuracy_of_zero, int64_t processes, int64_t dense_ns) {
    std::vector<Ran> runs;
    for (int64_t seed = 0; seed < seeds; ++seed) {
      const double spread = 0.0001 * static_cast<double>(seed);
      runs.push_back(accuracy("dense", seed, {0.9 + spread}));
      runs.push_back(accuracy("zero", seed, {accuracy_of_zero + spread}));
    }
    for (int64_t seed = 0; seed < processes; ++seed) {
      runs.push_back(timing("zero", dense_ns + seed, seed));
    }
    return runs;
  };
  const auto verdicts = [&](int64_t seeds, int64_t processes, const Margin& margin = 0.5) {
    for (const char* name : {"a.db", "b.db"}) std::filesystem::remove(folder_ / name);
    fill_store(folder_ / "a.db", of(seeds, 0.5, processes, 2000));
    fill_store(folder_ / "b.db", of(seeds, 0.48, processes, 1500));
    const Table table =
        report_compare(Snapshot(folder_ / "a.db"), Snapshot(folder_ / "b.db"), {.margin = margin});
    std::string text;
    for (const auto& row : table.rows) text += std::get<std::string>(row[7]) + " ";
    return text;
  };
  EXPECT_EQ(verdicts(6, kProcessesForAVerdict), "same inferior slower ");
  // Equal runs give equal numbers, of one seed and of several.
  for (const int64_t seeds : {1, 2, 5}) {
    EXPECT_EQ(verdicts(seeds, kProcessesForAVerdict - 1), "same differs undecided ") << seeds;
  }
  // A share of the exact training's error, 10 %, and not of the method's, 50 %.
  EXPECT_EQ(verdicts(6, 1, Margin::of_error(0.1)), "same inferior undecided ");
  EXPECT_EQ(verdicts(6, 1, Margin::of_error(0.3)), "same same undecided ");
}

// It never arrives, like one that was evaluated before it diverged.
TEST_F(ReportTest, ARunThatDivergedBeforeItsFirstEvaluationCountsAgainstATarget) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 2; ++seed) {
    runs.push_back(accuracy("dense", seed, {0.5, 0.8}));
    runs.push_back(seed == 0 ? Ran{planned("zero", seed), accuracy_events({}, RunState::kDiverged)}
                             : accuracy("zero", seed, {0.8, 0.8}));
  }
  fill(runs, Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_EQ(count(table, "zero", "reached"), 1);
  EXPECT_EQ(count(table, "zero", "runs"), 2);
  EXPECT_EQ(count(table, "zero", "pairs"), 2);
  EXPECT_EQ(count(table, "zero", "pairs_arrived"), 1);
  EXPECT_EQ(at(table, "zero", "speedup"), Field()) << "one of the pairs did not arrive";
  EXPECT_DOUBLE_EQ(real(table, "zero", "restart_s"), 1) << "begun anew as soon as it diverged";
}

// Accuracies are those of the trainings, all of which ended.
TEST_F(ReportTest, ATimingThatDivergedIsNoDivergedTraining) {
  auto stopped = timing("zero", 2000, 1);
  stopped.events.back() = final_event(1, RunState::kDiverged);
  fill({accuracy("dense", 0, {0.5}), accuracy("zero", 0, {0.5}), timing("zero", 2000), stopped});
  const Table table = made("table", path_);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")).find("diverged"), std::string::npos);
  EXPECT_EQ(count(table, "zero", "diverged"), 1);
  EXPECT_EQ(at(made("advice", path_), "zero", "decided_by"),
            Field(std::string("speed, loss, same time")));
}

// The mean of those that did not diverge would push a sound method off the front.
TEST_F(ReportTest, WhatDivergedOrHasNoSoundSpeedupIsNotHeldAgainstOthers) {
  const Ran diverged{planned("random", 1), accuracy_events({}, RunState::kDiverged)};
  fill({accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.7}), accuracy("random", 0, {0.79}),
        diverged, timing("zero", 1500), timing("random", 2000)});
  const Table table = made("pareto", path_);
  EXPECT_EQ(std::get<std::string>(at(table, "random", "front")), "perhaps");
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "front")), "yes");
  EXPECT_NE(std::get<std::string>(at(table, "random", "notes")).find("diverged"),
            std::string::npos);
  EXPECT_NE(render(table, "md").find("means are over the runs that did not diverge"),
            std::string::npos);
}

TEST_F(ReportTest, TaintedTimingsAreLeftOutUnlessAskedFor) {
  Ran timing{planned("zero", 0, Purpose::kTiming),
             {block_event(0, "dense", 10, 200), block_event(0, "approx", 10, 100), final_event(1)},
             environment_of(),
             {.taint = {"load"}}};
  fill({timing});
  EXPECT_EQ(at(made("table", path_), "zero", "speedup").index(), 0u);
  EXPECT_EQ(std::get<std::string>(at(made("table", path_), "zero", "notes")), "tainted timing");
  EXPECT_DOUBLE_EQ(real(made("table", path_, {.include_tainted = true}), "zero", "speedup"), 2);
  EXPECT_EQ(std::get<std::string>(at(made("runs", path_), "zero", "state")), "finished");
  EXPECT_NE(render(made("runs", path_), "md").find("| finished, tainted |"), std::string::npos);
}

// What was timed in vain is not said to be untimed: another timing of it would be refused.
TEST_F(ReportTest, WhatHasDisturbedTimingsAloneIsSaidToNeedThemAgain) {
  Ran disturbed = timing("zero", 2000);
  disturbed.end = {.taint = {"load"}};
  fill({accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.8}), accuracy("random", 0, {0.8}),
        disturbed});
  const auto reason = [&](const char* method) {
    return std::get<std::string>(at(made("advice", path_), method, "reason"));
  };
  EXPECT_NE(reason("zero").find("--rerun tainted"), std::string::npos) << reason("zero");
  EXPECT_NE(reason("random").find("its speed was not measured"), std::string::npos);
  // To train exactly for the same time takes a speedup.
  EXPECT_EQ(reason("random").find("iso-time"), std::string::npos) << reason("random");
  const auto all = made("pareto", path_).notes;
  const std::string notes = fmt::format("{}", fmt::join(all, "\n"));
  EXPECT_NE(notes.find("(sweep --rerun tainted): zero"), std::string::npos) << notes;
  EXPECT_NE(notes.find("not timed: random"), std::string::npos) << notes;
  EXPECT_EQ(stored_rows(Snapshot(path_), "test:one").disturbed.size(), 1u);
}

TEST_F(ReportTest, TheCeilingIsNotOfATaintedTimingEither) {
  Ran timing{planned("zero", 0, Purpose::kTiming),
             {block_event(0, "dense", 10, 200),
              block_event(0, "approx", 10, 100),
              {{"event", "metric"},
               {"name", "phase_share"},
               {"split", "forward"},
               {"step", 8},
               {"epoch", 0.5},
               {"train_ns", 1},
               {"value", 0.5}},
              {{"event", "layer"},
               {"layer", "conv"},
               {"product", "forward"},
               {"method", "zero"},
               {"calls", 1},
               {"exact_calls", 0},
               {"macs_dense", 2},
               {"macs_done", 1},
               {"density", nullptr}},
              final_event(1)},
             environment_of(),
             {.taint = {"load"}}};
  fill({timing});
  EXPECT_EQ(at(made("table", path_), "zero", "speedup_ceiling").index(), 0u);
  EXPECT_NEAR(real(made("table", path_, {.include_tainted = true}), "zero", "speedup_ceiling"), 2,
              1e-12);
}

TEST_F(ReportTest, ASmallerNetworksSpeedupIsOverTheLargerOnes) {
  const auto timing = [](const std::string& against, int64_t dense_ns) {
    Ran ran{
        planned("dense", 0, Purpose::kTiming),
        {block_event(0, "dense", 10, dense_ns), block_event(0, "approx", 10, 100), final_event(1)},
        environment_of(),
        {}};
    ran.plan.config.timed_against = against;
    ran.plan.key += against;
    return ran;
  };
  fill({timing("", 110), timing("vgg19", 300)});
  const Table table = made("table", path_);
  EXPECT_DOUBLE_EQ(real(table, "dense", "speedup"), 3);
  EXPECT_EQ(std::get<std::string>(at(table, "dense", "notes")),
            "timed against another network; few processes");
}

// By hand: two processes at exact / method = 2 and 4, two at exact / stock = 0.5 and 0.5, so over
// stock sqrt(8) / 0.5.
TEST_F(ReportTest, ASpeedupOverStockIsThatOverTheExactStepDividedByTheStockSteps) {
  const auto timed = [](const std::string& method, int64_t seed, int64_t dense_ns, bool stock) {
    Ran ran{
        planned(method, seed, Purpose::kTiming),
        {block_event(0, "dense", 10, dense_ns), block_event(0, "approx", 10, 100), final_event(1)}};
    if (stock) {
      ran.plan.config.operators = OperatorSet::kLibrary;
      ran.plan.key += "/stock";
      ran.plan.method_label = "LibTorch's own";
    }
    return ran;
  };
  const std::vector<Ran> methods = {timed("zero", 0, 200, false), timed("zero", 1, 400, false)};
  const auto stored = [&](const std::vector<Ran>& stock) {
    std::vector<Ran> runs = methods;
    runs.insert(runs.end(), stock.begin(), stock.end());
    runs.push_back(accuracy("dense", 0, {0.75}));
    std::filesystem::remove(path_);
    fill(runs);
    return made("table", path_);
  };
  const std::string note = "no timing with operators = library";
  {
    const Table table = stored({});
    EXPECT_EQ(at(table, "zero", "speedup_vs_stock").index(), 0u);
    EXPECT_EQ(std::get<std::string>(at(table, "zero", "speedup_vs_stock_missing")).find(note), 0u);
    EXPECT_NE(render(table, "md").find("vs stock: " + note), std::string::npos);
    EXPECT_EQ(render(table, "md").find("| speedup vs stock"), std::string::npos);
  }
  const std::vector<Ran> stock = {timed("dense", 0, 50, true), timed("dense", 1, 50, true)};
  {
    const Table table = stored(stock);
    EXPECT_NEAR(real(table, "zero", "speedup"), std::sqrt(8), 1e-12);
    EXPECT_NEAR(real(table, "zero", "speedup_vs_stock"), std::sqrt(8) / 0.5, 1e-12);
    // The stock step's own interval is a point.
    EXPECT_NEAR(real(table, "zero", "speedup_vs_stock_lo"), real(table, "zero", "speedup_lo") / 0.5,
                1e-9);
    EXPECT_EQ(std::get<std::string>(at(table, "zero", "speedup_vs_stock_missing")), "");
    EXPECT_NEAR(real(table, "dense", "speedup_vs_stock"), 2, 1e-12) << "the exact step itself";
    EXPECT_NEAR(real(table, "LibTorch's own", "speedup"), 0.5, 1e-12);
    EXPECT_EQ(std::get<std::string>(at(table, "LibTorch's own", "speedup_vs_stock_missing")),
              "it is the stock step itself");
    EXPECT_NE(render(table, "md").find("| speedup vs stock"), std::string::npos);
    EXPECT_NEAR(real(made("advice", path_), "zero", "speedup_vs_stock"), std::sqrt(8) / 0.5, 1e-12);
  }
  // Steps of another batch, another machine, another build.
  const auto changed = [&](const auto& change) {
    auto other = stock;
    for (auto& ran : other) change(ran);
    return stored(other);
  };
  const auto batch = changed([](Ran& ran) { ran.plan.config.batch_size = 50; });
  EXPECT_EQ(at(batch, "zero", "speedup_vs_stock").index(), 0u);
  const auto host = changed([](Ran& ran) { ran.environment = environment_of("other"); });
  EXPECT_EQ(at(host, "zero", "speedup_vs_stock").index(), 0u);
  const auto build = changed([](Ran& ran) { ran.environment["engine"]["git_sha"] = "def456"; });
  EXPECT_NEAR(real(build, "zero", "speedup_vs_stock"), std::sqrt(8) / 0.5, 1e-12);
  EXPECT_NE(std::get<std::string>(at(build, "zero", "notes")).find("stock step of another build"),
            std::string::npos);
}

TEST_F(ReportTest, PairsOfDifferentBuildsAreNoted) {
  const auto notes = [&](const char* key, const char* value) {
    auto other = accuracy("zero", 1, {0.5});
    other.environment["engine"][key] = value;
    std::vector<Ran> runs = {accuracy("dense", 0, {0.75}), accuracy("dense", 1, {0.75}),
                             accuracy("zero", 0, {0.5}), other};
    for (size_t i = 0; i < 3; ++i) runs[i].environment["engine"]["library"] = "11";
    std::filesystem::remove(path_);
    fill(runs);
    return std::get<std::string>(at(made("table", path_), "zero", "notes"));
  };
  const std::string note = "pairs of different builds";
  EXPECT_EQ(notes("library", "11").find(note), std::string::npos);
  EXPECT_EQ(notes("hostname", "box").find(note), std::string::npos) << "one says no library";
  EXPECT_NE(notes("library", "22").find(note), std::string::npos);
  EXPECT_NE(notes("git_sha", "def456").find(note), std::string::npos);
}

TEST_F(ReportTest, RunsThatWentOnFromACheckpointAreNoted) {
  auto resumed = accuracy("zero", 0, {0.5});
  resumed.end.taint = {"went on from a checkpoint"};
  fill({resumed, accuracy("dense", 0, {0.5})});
  const Table table = made("table", path_);
  EXPECT_NE(std::get<std::string>(at(table, "zero", "notes")).find("resumed runs"),
            std::string::npos);
  EXPECT_EQ(std::get<std::string>(at(table, "dense", "notes")).find("resumed runs"),
            std::string::npos);
  EXPECT_EQ(real(table, "zero", "accuracy_pct"), 50);
}

TEST_F(ReportTest, DifferentSettingsAreDifferentRows) {
  auto small = accuracy("zero", 0, {0.5});
  small.plan.config.batch_size = 50;
  small.plan.config.recipe.epochs = 7;
  small.plan.key += "small";
  fill({accuracy("zero", 0, {0.75}), small});
  const Table table = made("table", path_);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(table.rows[0][4]), "batch_size=100 epochs=1");
  EXPECT_EQ(std::get<std::string>(table.rows[1][4]), "batch_size=50 epochs=7");
  EXPECT_EQ(table.text_columns[4], "setting");
}

TEST_F(ReportTest, TheHeldOutPartChoosesTheBestEvaluation) {
  Ran run{planned("zero", 0),
          {accuracy_event(1, 0.25), accuracy_event(2, 0.5), accuracy_event(3, 0.375),
           accuracy_event(1, 0.9, "holdout"), accuracy_event(2, 0.2, "holdout"),
           accuracy_event(3, 0.3, "holdout"), final_event(3'000'000'000)}};
  run.plan.config.split = SplitKind::kHoldout;
  fill({run}, Target{"accuracy", 0.5});
  const Table table = made("table", path_);
  EXPECT_DOUBLE_EQ(real(table, "zero", "accuracy_pct"), 37.5);
  EXPECT_DOUBLE_EQ(real(table, "zero", "best_accuracy_pct"), 25) << "not the best on the test set";
  EXPECT_DOUBLE_EQ(real(table, "zero", "time_to_target_s"), 1);
}

TEST_F(ReportTest, AnExperimentIsOnlyItsRuns) {
  fill({accuracy("zero", 0, {0.75})});
  auto other = planned("random", 0);
  other.method_label = "Random";
  auto excluded = planned("huge", 0);
  excluded.excluded = "no memory";
  RunStore(path_, Mode::kWrite).add_experiment(experiment_of({other, excluded}, "test:two"), "x");
  EXPECT_EQ(made("table", path_).rows.size(), 2u);
  const Table table = made("table", path_, {.experiment = "@test:two"});
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(count(table, "Random", "missing"), 1);
  EXPECT_EQ(table.notes.back(), "left out: huge, all on LeNet / mnist (1 runs): no memory");
  EXPECT_EQ(made("runs", path_, {.experiment = "test:one"}).rows.size(), 1u);
  try {
    made("table", path_, {.experiment = "test:tvo"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("did you mean \"test:"), std::string::npos);
  }
}

TEST_F(ReportTest, RunsAndDetails) {
  auto run = accuracy("zero", 4, {0.5, 0.75});
  run.events.push_back({{"event", "metric"},
                        {"name", "loss"},
                        {"split", "train"},
                        {"step", 1},
                        {"epoch", 0.1},
                        {"train_ns", 5},
                        {"value", nullptr},
                        {"special", "nan"}});
  run.events.push_back(traffic_event("conv1", 4, 300, 600));
  fill({run});
  const Table runs = made("runs", path_);
  ASSERT_EQ(runs.rows.size(), 1u);
  const Json json = Json::parse(render(runs, "json"))["rows"][0];
  EXPECT_EQ(json["state"], "finished");
  EXPECT_EQ(json["seed"], 4);
  EXPECT_EQ(json["accuracy_pct"], 75.0);
  EXPECT_EQ(json["train_s"], 2.0);
  EXPECT_EQ(json["step_ms_median"], 10.0);
  EXPECT_EQ(json["host"], "box");
  EXPECT_EQ(json["cpu"], "Test CPU");

  const Json details = run_details(Snapshot(path_), 1);
  EXPECT_EQ(details["schema"], "approxtrain.run/1");
  EXPECT_EQ(details["config"]["batch_size"], 100);
  EXPECT_EQ(details["environment"]["engine"]["torch"], "2.11.0");
  EXPECT_EQ(details["metrics"].size(), 3u);
  EXPECT_EQ(details["traffic"],
            Json::parse(R"([{"layer": "conv1", "calls": 4, "bytes": 300, "bytes_dense": 600}])"));
  EXPECT_FALSE(details["run"].contains("step_ns")) << "raw samples stay in the store";
  const std::string text = render_run(details);
  EXPECT_NE(text.find("### Run 1"), std::string::npos);
  EXPECT_NE(text.find("nan"), std::string::npos);
  EXPECT_NE(text.find("### Traffic"), std::string::npos);
  EXPECT_THROW(run_details(Snapshot(path_), 2), Error);
}

TEST(TableTest, CsvQuotesAndJsonKeepsWhatItCanHold) {
  Table table;
  table.columns = {"text", "big", "value"};
  table.rows = {{"a,\"b\"\n", int64_t{1} << 60, std::numeric_limits<double>::quiet_NaN()},
                {Field(), int64_t{-3}, -std::numeric_limits<double>::infinity()}};
  EXPECT_EQ(render(table, "csv"),
            "text,big,value\n\"a,\"\"b\"\"\n\",1152921504606846976,nan\n,-3,-inf\n");
  EXPECT_EQ(render(table, "jsonl"),
            "{\"text\":\"a,\\\"b\\\"\\n\",\"big\":\"1152921504606846976\",\"value\":null,"
            "\"special\":{\"value\":\"nan\"}}\n"
            "{\"text\":null,\"big\":-3,\"value\":null,\"special\":{\"value\":\"-inf\"}}\n");
  EXPECT_THROW(render(table, "xml"), Error);
}

TEST(TableTest, MarkdownEscapesAndPadsByCharacters) {
  Table table;
  table.text_columns = {"µ", "b"};
  table.text_rows = {{"a|b", "é"}};
  EXPECT_EQ(render(table, "md"), "| µ    | b   |\n|------|-----|\n| a\\|b | é   |\n");
}

TEST(TableTest, FilesAppearWholeOrNotAtAll) {
  TemporaryFolder folder;
  write_file(folder / "out.csv", "x\n");
  EXPECT_EQ(file_bytes(folder / "out.csv"), "x\n");
  EXPECT_THROW(write_file(folder / "none/out.csv", "x"), Error);
  std::filesystem::create_directory(folder / "taken");
  EXPECT_THROW(write_file(folder / "taken", "x"), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 2)
      << "nothing unfinished is left";
}

}  // namespace
}  // namespace approx
