
#include <gtest/gtest.h>

#include "results/stats/stats.h"
#include "tests/results/filled_store.h"
#include "tests/results/reports/made.h"

namespace approx {
namespace {

class PairsReport : public testing::Test {
 protected:
  struct Training {
    std::string method;
    int64_t seed = 0;
    double accuracy = 0;
    double last_epoch = 1;  // of the second and last epoch, the part that is trained
    std::string network = "lenet", host = "box";
    RunState state = RunState::kFinished;
  };

  static PlannedRun plan_of(const Training& training) {
    PlannedRun plan = planned(training.method, training.seed);
    plan.config.network = training.network;
    plan.network_label = training.network;
    plan.config.recipe.epochs = 2;
    plan.config.recipe.lr_schedule = RateSchedule::kCosine;
    plan.config.recipe.last_epoch = training.last_epoch;
    if (training.last_epoch < 1) plan.method_label = "shorter";
    plan.key += fmt::format("/{}/{}", training.network, training.last_epoch);
    return plan;
  }

  void fill(const std::vector<Training>& trainings) const {
    std::vector<PlannedRun> plans;
    for (const auto& training : trainings) plans.push_back(plan_of(training));
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(experiment_of(plans), "sweep");
    for (size_t i = 0; i < plans.size(); ++i) {
      const auto id =
          store.begin(plans[i].key, environment_of(trainings[i].host), folder_ / "runs");
      ASSERT_TRUE(id) << plans[i].key;
      auto events = accuracy_events({0.1, trainings[i].accuracy}, trainings[i].state);
      events[1]["epoch"] = 1 + trainings[i].last_epoch;
      store.finish(*id, events, {.state = trainings[i].state});
    }
  }

  // The report as JSON objects.
  Json lines() const { return Json::parse(render(made("pairs", path_), "json"))["rows"]; }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";
};

TEST_F(PairsReport, HoldsAMethodAgainstExactTrainingsOfEveryLength) {
  std::vector<Training> trainings;
  const std::vector<double> ahead_of_shorter = {0.01, 0.02, 0.03, 0.04, 0.05, -0.01};
  for (int64_t seed = 0; seed < 6; ++seed) {
    const double exact = 0.5 + 0.01 * static_cast<double>(seed);
    trainings.push_back({"dense", seed, exact});
    trainings.push_back({"zero", seed, exact - 0.02});
    trainings.push_back(
        {"dense", seed, exact - 0.02 - ahead_of_shorter[static_cast<size_t>(seed)], 0.5});
  }
  fill(trainings);
  const Json rows = lines();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["method"], "zero");
  EXPECT_EQ(rows[0]["exact"], "dense");
  EXPECT_NEAR(rows[0]["ahead_pp"], -2, 1e-9);
  EXPECT_EQ(rows[0]["seeds_ahead"], 0);
  EXPECT_NEAR(rows[0]["exact_epochs"], 2, 1e-9);
  EXPECT_NEAR(rows[0]["p"], 2.0 / 64, 1e-9) << "all six of one sign";
  const std::vector<double> points = {1, 2, 3, 4, 5, -1};
  const auto expected = paired_difference(points);
  EXPECT_EQ(rows[1]["exact"], "shorter");
  EXPECT_NEAR(rows[1]["epochs"], 2, 1e-9);
  EXPECT_NEAR(rows[1]["exact_epochs"], 1.5, 1e-9);
  EXPECT_EQ(rows[1]["n"], 6);
  EXPECT_EQ(rows[1]["seeds_ahead"], 5);
  EXPECT_NEAR(rows[1]["ahead_pp"], expected.mean, 1e-9);
  EXPECT_NEAR(rows[1]["ahead_pp_half"], *expected.half, 1e-9);
  EXPECT_NEAR(rows[1]["p"], *expected.p, 1e-9);
  // The smaller of two is doubled, the other no smaller than that.
  EXPECT_NEAR(rows[0]["p_holm"], 4.0 / 64, 1e-9);
  EXPECT_NEAR(rows[1]["p_holm"], std::max(4.0 / 64, *expected.p), 1e-9);
  // People see no p that six seeds cannot bring below 0.05.
  const Table table = made("pairs", path_);
  const auto texts = [&](const std::string& header) {
    const auto at = std::ranges::find(table.text_columns, header) - table.text_columns.begin();
    std::vector<std::string> cells;
    for (const auto& row : table.text_rows) cells.push_back(row.at(static_cast<size_t>(at)));
    return cells;
  };
  EXPECT_EQ(texts("p"), (std::vector<std::string>{"0.031", fmt::format("{:.2g}", *expected.p)}));
  EXPECT_EQ(texts("p, Holm"), (std::vector<std::string>{"–", "–"}));
}

TEST_F(PairsReport, PairsWhatSharesASeedANetworkAndAnEnd) {
  fill({{"dense", 0, 0.5},
        {"zero", 0, 0.6},
        {"dense", 1, 0.5, 1, "lenet", "box", RunState::kDiverged},
        {"zero", 1, 0.9},
        {"zero", 2, 0.9},
        {"dense", 3, 0.5, 1, "other"},
        {"dense", 4, 0.5, 0.5}});
  const Json rows = lines();
  ASSERT_EQ(rows.size(), 1U) << "no other network, and no length without a common seed";
  EXPECT_EQ(rows[0]["n"], 1);
  EXPECT_NEAR(rows[0]["ahead_pp"], 10, 1e-9);
  EXPECT_TRUE(rows[0]["ahead_pp_half"].is_null());
  EXPECT_TRUE(rows[0]["p_holm"].is_null());
  const std::string notes = rows[0]["notes"];
  EXPECT_NE(notes.find("unpaired seeds"), std::string::npos) << notes;
  EXPECT_NE(notes.find("diverged"), std::string::npos) << notes;
}

TEST_F(PairsReport, SaysWherePairsAreOfTwoMachines) {
  fill({{"dense", 0, 0.5, 0.5, "lenet", "elsewhere"}, {"dense", 0, 0.5}, {"zero", 0, 0.6}});
  const Json rows = lines();
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& row : rows) {
    const bool elsewhere = row["exact"] == "shorter";
    EXPECT_EQ(row["notes"].get<std::string>().find("different machines") != std::string::npos,
              elsewhere);
  }
}

TEST_F(PairsReport, SaysNothingOfWhatMakesNoPair) {
  fill({{"dense", 0, 0.5},
        {"zero", 0, 0.6},
        {"dense", 1, 0.5, 1, "lenet", "elsewhere", RunState::kDiverged},
        {"zero", 1, 0.6}});
  const Json rows = lines();
  ASSERT_EQ(rows.size(), 1U);
  const std::string notes = rows[0]["notes"];
  EXPECT_EQ(notes.find("different machines"), std::string::npos) << notes;
  EXPECT_NE(notes.find("few seeds"), std::string::npos) << notes;
}

TEST_F(PairsReport, OfAnEmptyStoreIsEmpty) {
  { RunStore store(path_, RunStore::Mode::kWrite); }
  EXPECT_TRUE(lines().empty());
}

}  // namespace
}  // namespace approx
