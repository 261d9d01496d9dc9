// Losses of accuracy beside the paper's: against which training they are held.
#include <gtest/gtest.h>

#include <functional>

#include "results/render/verdict.h"
#include "tests/results/papers/paper_report_test.h"

namespace approx {
namespace {

// Points lost after four epochs of SGD say nothing of those lost after 250 of Adam.
TEST_F(PaperReport, ALossOfAnotherTrainingIsNotThePapers) {
  const auto layout = item(6);
  const auto reason = [&](const std::function<void(RunConfig&)>& change, const char* of = "zero") {
    auto shown = item(6);
    shown.scale = Scale::kReduced;
    for (auto& run : trainings_of(shown)) {
      if (run.method_label == of || *of == '\0') change(run.config);
      run.key += of;
    }
    std::filesystem::remove(path_);
    fill(shown, 6);
    return at(report_paper(Snapshot::or_empty(path_), layout, shown), "zero", "accuracy_loss",
              "reason");
  };
  EXPECT_EQ(reason([](RunConfig&) {}), "within 1 pp around the paper's number");
  EXPECT_EQ(reason([](RunConfig& run) { run.threads = 7, run.recipe.learning_rate = 0.3; }, ""),
            "within 1 pp around the paper's number");
  EXPECT_EQ(reason(
                [](RunConfig& run) {
                  run.recipe.optimizer = UpdateRule::kAdam;
                  run.recipe.epochs = 4;
                  run.train_examples = 5000;
                },
                ""),
            "not trained as in the paper: optimizer=adam, not sgd; epochs=4, not 1; "
            "train_examples=5000, not all");
  EXPECT_EQ(reason([](RunConfig& run) { run.recipe.nesterov = true; }, ""),
            "not trained as in the paper: nesterov=true, not false");
  EXPECT_EQ(reason([](RunConfig& run) { run.method = "zero:freeze=true"; }),
            "not trained as in the paper: method=zero:freeze=true, not zero");
  EXPECT_EQ(reason([](RunConfig& run) { run.schedule.push_back({}); }),
            "not trained as in the paper: another schedule");
}

// What the full scale itself does otherwise than the paper only its file can say.
TEST_F(PaperReport, AStatedDepartureJudgesNoLoss) {
  auto experiment = item(6);
  experiment.paper.departures = {
      {.methods = {"zero"}, .reason = "the paper's runs scale the gradient once more"}};
  fill(experiment, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reason"),
            "not trained as in the paper: the paper's runs scale the gradient once more");
  EXPECT_EQ(at(table, "random", "accuracy_loss", "verdict"), name(Verdict::kDiffers));
}

TEST_F(PaperReport, LossesHaveTheAdjustedPOfTheTable) {
  const auto experiment = item(6);
  fill(experiment, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  // Six seeds that all lose: 2 of 64 sign patterns, times the two losses of the table.
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "p"), "0.031");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "p_holm"), "0.062");
  EXPECT_EQ(at(table, "zero", "accuracy", "p_holm"), "");
  // Six seeds cannot bring the smaller of two below 0.05, so that it says nothing.
  const std::string text = render(table, "md");
  EXPECT_NE(text.find("2.00 ± 0.00 (n=6)"), std::string::npos) << text;
  EXPECT_EQ(text.find("p=0."), std::string::npos) << text;
  EXPECT_NE(text.find("over the 2 losses of the table, which takes 7 seeds"), std::string::npos);
}

TEST_F(PaperReport, LossesOfEnoughSeedsShowTheirP) {
  const auto experiment = item(7);
  fill(experiment, 7);
  const auto text = render(report_paper(Snapshot::or_empty(path_), experiment, experiment), "md");
  EXPECT_NE(text.find("(n=7, p=0.031)"), std::string::npos) << text;
}

// A loss is a difference of two rows: both must be those of the item.
TEST_F(PaperReport, ADenseRowOfOtherSettingsJudgesNoLoss) {
  auto mixed = item(6);
  for (auto& run : trainings_of(mixed)) {
    if (run.method_label == "dense") run.config.recipe.epochs = 7, run.key += "-earlier";
  }
  fill(mixed, 6);
  const auto now = item(6);
  const auto table = report_paper(Snapshot::or_empty(path_), now, now);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "n"), "6");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "verdict"), name(Verdict::kNotComparable));
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reason"),
            "its dense runs were made with other settings than the item's: epochs=7");
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "p"), "") << "no test of the table's family";
  EXPECT_EQ(at(table, "zero", "accuracy", "verdict"), name(Verdict::kDiffers))
      << "88.2 against 90.1";
}

// The tolerance of an accuracy is not that of a difference.
TEST_F(PaperReport, ADerivedLossIsJudgedByTheMargin) {
  auto experiment = item(6);
  experiment.paper.margin = 0.05;
  fill(experiment, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "verdict"), name(Verdict::kDiffers))
      << "2.0 against 1.9";
  EXPECT_EQ(at(table, "zero", "accuracy_loss", "reason"),
            "outside 0.05 pp around the paper's number");
}

// Where a row has no exact training of its own, that of the same network and data serves.
TEST_F(PaperReport, ABaselineMayStandInAnotherRow) {
  auto experiment = item(6);
  for (auto& run : trainings_of(experiment)) {
    if (run.method_label == "random") run.network_label = "LeNet, less";
  }
  std::erase_if(trainings_of(experiment),
                [](const auto& run) { return run.method_label == "zero"; });
  experiment.paper.rows = "network";
  experiment.paper.columns = "method";
  ReportedValue value = accuracy_value();
  value.paper = {{{"92.0", 92.0}, {"", std::nullopt}}, {{"", std::nullopt}, {"90.0", 90.0}}};
  experiment.paper.values = {value};
  fill(experiment, 6);
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  std::string reported, measured;
  for (const auto& row : table.rows) {
    if (std::get<std::string>(row[2]) == "LeNet, less" &&
        std::get<std::string>(row[3]) == "random" &&
        std::get<std::string>(row[4]) == "accuracy_loss") {
      reported = fmt::format("{:.2f}", std::get<double>(row[10]));
      measured = fmt::format("{:.2f}", std::get<double>(row[11]));
    }
  }
  EXPECT_EQ(reported, "2.00");
  EXPECT_EQ(measured, "2.00");
}

// The rate of a tuned row is its own: it is compared with dense training at another.
TEST_F(PaperReport, RowsOfATunedExperimentAreComparedAtTheirOwnRates) {
  auto experiment = item(6);
  for (auto& run : trainings_of(experiment)) {
    if (run.method_label == "zero") run.config.recipe.learning_rate = 0.025;
  }
  fill(experiment, 6);
  const auto loss = [&] {
    const RowSet set(Snapshot(path_), {.experiment = experiment.id});
    for (const auto& row : set.rows()) {
      if (row.first->method_label == "zero") return row.loss.n;
    }
    return int64_t{-1};
  };
  EXPECT_EQ(loss(), 0);
  auto trials = item(1);
  trials.id = experiment.id + ":tune";
  for (auto& run : trainings_of(trials)) run.key += "-trial", run.config.seed = 100;
  RunStore(path_, RunStore::Mode::kWrite).add_experiment(trials, "sweep --tune");
  EXPECT_EQ(loss(), 6);
  // The trials themselves are shown where they are asked for, and nowhere else.
  const RowSet all(Snapshot(path_), ReportOptions{});
  for (const auto& row : all.rows()) EXPECT_NE(row.first->config.seed, 100);
  EXPECT_FALSE(RowSet(Snapshot(path_), {.experiment = trials.id}).rows().empty());
}

}  // namespace
}  // namespace approx
