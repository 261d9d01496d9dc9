#include "core/experiment/exact_lengths.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/config/run_key.h"
#include "core/experiment/iso_time.h"
#include "core/experiment/tuning.h"
#include "tests/core/experiment/experiment_text.h"

namespace approx {
namespace {

constexpr const char* kCosineLines = R"(recipe = {epochs = 10, lr_schedule = "cosine"}
seeds = "0-1"
)";

std::map<std::string, std::vector<const PlannedRun*>> by_method(const Experiment& experiment) {
  std::map<std::string, std::vector<const PlannedRun*>> runs;
  for (const auto& run : experiment.runs()) runs[run.method_label].push_back(&run);
  return runs;
}

TEST(ExactLengths, ATrainingOfEachLengthStandsBehindTheWholeOne) {
  const auto experiment =
      parse(with(std::string(kCosineLines) + "exact_lengths = [1, 0.8, 0.55]\n"
                                             "purpose = [\"accuracy\", \"timing\"]\n"));
  EXPECT_EQ(summary(experiment), (std::vector<std::string>{
                                     "0 accuracy small_cnn dense ",
                                     "0 accuracy small_cnn dense for 8 epochs ",
                                     "0 accuracy small_cnn dense for 5.5 epochs ",
                                     "0 accuracy small_cnn zero wang2019_cnn2",
                                     "0 timing small_cnn dense ",
                                     "0 timing small_cnn zero wang2019_cnn2",
                                     "1 accuracy small_cnn dense ",
                                     "1 accuracy small_cnn dense for 8 epochs ",
                                     "1 accuracy small_cnn dense for 5.5 epochs ",
                                     "1 accuracy small_cnn zero wang2019_cnn2",
                                     "1 timing small_cnn dense ",
                                     "1 timing small_cnn zero wang2019_cnn2",
                                 }));
  const auto runs = by_method(experiment);
  const PlannedRun& whole = *runs.at("dense").front();
  const PlannedRun& shorter = *runs.at("dense for 5.5 epochs").front();
  EXPECT_EQ(shorter.config.recipe, shortened(whole.config.recipe, 0.55, 0));
  EXPECT_EQ(length_in_epochs(shorter.config.recipe), 5.5);
  EXPECT_EQ(shorter.shortened_from, whole.config.recipe);
  EXPECT_EQ(shorter.key, run_key(shorter.config, checksum("mnist14"), test_catalogue()));
  EXPECT_TRUE(is_exact_control(shorter.method_label));
  EXPECT_FALSE(is_exact_control(whole.method_label));
  std::set<std::string> keys;
  for (const auto& run : experiment.runs()) EXPECT_TRUE(keys.insert(run.key).second);
}

TEST(ExactLengths, ChangeNoOtherRun) {
  const auto plain = parse(with(kCosineLines));
  const auto with_lengths = parse(with(std::string(kCosineLines) + "exact_lengths = [0.7, 0.9]\n"));
  std::set<std::string> keys;
  for (const auto& run : with_lengths.runs()) {
    if (!run.shortened_from) keys.insert(run.key);
  }
  EXPECT_EQ(keys.size(), plain.runs().size());
  for (const auto& run : plain.runs()) EXPECT_TRUE(keys.contains(run.key));
}

// A shorter training is the beginning of a longer one, whose evaluations have its accuracy.
TEST(ExactLengths, NoneUnderAConstantLearningRate) {
  const auto experiment = parse(with("recipe = {epochs = 10}\nexact_lengths = [0.7, 0.9]\n"));
  EXPECT_EQ(experiment.runs().size(), 2U);
}

// An exact training of another network or length has no method beside it, and an excluded one is
// not trained.
TEST(ExactLengths, AreForExactTrainingsBesideAMethod) {
  const std::string extras = R"(
[[extra]]
label = "A smaller network"
method = "dense"
network = "wang_cnn2"

[[extra]]
label = "Half as long"
method = "dense"
recipe = {epochs = 5, lr_schedule = "cosine"}
)";
  const auto experiment =
      parse(with(std::string(kCosineLines) + "exact_lengths = [0.5, 0.8]\n") + extras);
  const auto runs = by_method(experiment);
  EXPECT_EQ(runs.at("dense for 8 epochs").size(), 2U);
  for (const auto* run : runs.at("dense for 8 epochs")) EXPECT_EQ(run->network_label, "small_cnn");
  EXPECT_FALSE(runs.contains("dense for 5 epochs")) << "the extra is that training";
  EXPECT_EQ(runs.at("Half as long").size(), 2U);
  EXPECT_FALSE(runs.contains("dense for 4 epochs"));
  const auto without = parse(with(std::string(kCosineLines) + "exact_lengths = [0.8]\n") +
                             "[[exclude]]\nmethod = \"zero\"\nreason = \"a day a seed\"\n");
  EXPECT_FALSE(by_method(without).contains("dense for 8 epochs"));
}

TEST(ExactLengths, FollowAScaleAndMayBeLeftOutByAFlag) {
  const std::string text = with(std::string(kCosineLines) + "exact_lengths = [0.8]\n") +
                           "[scale.smoke]\nrecipe = {epochs = 2, lr_schedule = \"cosine\"}\n"
                           "exact_lengths = [0.25, 0.5]\n";
  const auto runs = by_method(parse(text, {.scale = Scale::kSmoke}));
  EXPECT_TRUE(runs.contains("dense for 1 epoch"));
  EXPECT_TRUE(runs.contains("dense for 0.5 epochs"));
  EXPECT_FALSE(runs.contains("dense for 8 epochs"));
  EXPECT_EQ(by_method(parse(text, {.axes = {{"method", "zero"}}})).size(), 1U);
}

// The curve is that of one recipe: a length has the rate of the whole training and no tuning of its
// own.
TEST(ExactLengths, HaveTheTunedRateOfTheWholeTraining) {
  auto experiment = parse(with(std::string(kCosineLines) +
                               "exact_lengths = [0.8]\n"
                               "tune = {learning_rate = [0.1, 0.2], seeds = \"100\"}\n"));
  const auto nothing = [](const std::string&) { return std::nullopt; };
  const auto trials = tuning_runs(experiment, nothing, test_catalogue(), checksum);
  EXPECT_EQ(trials.runs().size(), 2U * 2U) << "rates and arms";
  std::map<std::string, double> reached;
  for (const auto& trial : trials.runs()) {
    const double rate = trial.config.recipe.learning_rate;
    reached[trial.key] = trial.method_label == "dense" ? rate : 1 - rate;
  }
  const HeldOutAccuracy held_out = [&](const std::string& key) {
    const auto found = reached.find(key);
    return found == reached.end() ? std::nullopt : std::optional(found->second);
  };
  const auto lines = take_tuned_rates(experiment, held_out, test_catalogue(), checksum);
  EXPECT_EQ(lines.size(), 2U);
  for (const auto& run : experiment.runs()) {
    EXPECT_EQ(run.config.recipe.learning_rate, run.method_label == "zero" ? 0.1 : 0.2);
    EXPECT_EQ(run.excluded, "");
    EXPECT_EQ(run.key, run_key(run.config, checksum("mnist14"), test_catalogue()));
  }
}

// A selection is an arm: it has exact trainings of several lengths beside it, and none of its own.
TEST(ExactLengths, StandBesideASelection) {
  const auto experiment =
      parse(with(std::string(kCosineLines) + "method = \"dense\"\nselection = [\"none\", "
                                             "\"random_subset\"]\nexact_lengths = [0.5]\n"));
  std::vector<std::string> labels;
  for (const auto& run : experiment.runs()) {
    labels.push_back(run.method_label);
    EXPECT_EQ(run.config.selection.empty(), run.method_label != "random_subset");
  }
  const std::vector<std::string> of_seed = {"dense", "dense for 5 epochs", "random_subset"};
  auto wanted = of_seed;
  wanted.insert(wanted.end(), of_seed.begin(), of_seed.end());
  EXPECT_EQ(labels, wanted);
}

}  // namespace
}  // namespace approx
