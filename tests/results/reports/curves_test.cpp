// Curves of trainings.
#include <gtest/gtest.h>

#include <set>

#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

TEST_F(ThreeSeeds, CurvesHaveAPointForEachEvaluation) {
  fill_three();
  const Table table = made("curves", path_);
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(count(table, "dense", "n"), 3);
  EXPECT_NEAR(real(table, "dense", "mean"), (0.5 + 0.5 + 0.8125) / 3, 1e-12);
  EXPECT_DOUBLE_EQ(real(table, "dense", "max"), 0.8125);
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

}  // namespace
}  // namespace approx
