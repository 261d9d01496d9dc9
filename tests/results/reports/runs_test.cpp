// Single runs and their details.
#include <gtest/gtest.h>

#include "results/reports/run_details.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

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

TEST_F(ReportTest, ALongErrorIsCutBetweenCharacters) {
  auto failed = accuracy("zero", 0, {});
  failed.events.clear();
  failed.end.state = RunState::kFailed;
  failed.end.error = std::string(76, 'x') + "\u2013 and so on";  // three bytes at 76
  fill({failed});
  const Table table = made("runs", path_);
  EXPECT_EQ(table.text_rows[0].back(), std::string(76, 'x') + "...");
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
  std::string text;
  for (const auto& table : run_tables(details)) text += render(table, "md");
  EXPECT_NE(text.find("### Run 1"), std::string::npos);
  EXPECT_NE(text.find("nan"), std::string::npos);
  EXPECT_NE(text.find("### Traffic"), std::string::npos);
  EXPECT_THROW(run_details(Snapshot(path_), 2), Error);
}

}  // namespace
}  // namespace approx
