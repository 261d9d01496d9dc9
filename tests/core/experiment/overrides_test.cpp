#include "core/experiment/overrides.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/experiment/experiment_text.h"

namespace approx {
namespace {

// A million seeds held against a million timed ones, each with each, would take hours.
TEST(Overrides, SeedsWithoutNumberAreCountedAndRefused) {
  Overrides overrides;
  overrides.axes = {{"seeds", "0-999999"}};
  EXPECT_EQ(experiment_message("network = \"small_cnn\"\ndataset = \"mnist14\"\n"
                               "method = \"dense\"\npurpose = [\"accuracy\", \"timing\"]\n"
                               "timing_seeds = \"0-999999\"\n",
                               overrides),
            "x.toml:1:1: the grid has 2000000 runs; at most 100000 are expanded, so split it");
}

TEST(Overrides, AxesReplaceAxesAndDropTheExtrasThatGiveThem) {
  const auto text = with(R"(seeds = "0-9"
timing_seeds = 0
extra = [{label = "Smaller", method = "dense", network = "resnet14"}]
exclude = [{method = "zero", reason = "no"}])");
  Overrides overrides;
  overrides.axes = {{"method", "topk_position:k=2,scale=signed,random"},
                    {"schedule", "slice:layers=2::4,steps=::2,wang2019_s1"},
                    {"seeds", "4,6"},
                    {"batch_size", "32,64"},
                    {"threads", "1"}};
  const auto experiment = parse(text, overrides);
  EXPECT_EQ(experiment.runs().size(), 16u);
  EXPECT_EQ(experiment.runs()[0].config.method, "topk_position:k=2,scale=signed");
  EXPECT_EQ(experiment.runs()[0].schedule_label, "slice:layers=2::4,steps=::2");
  EXPECT_EQ(experiment.runs()[1].schedule_label, "wang2019_s1");
  EXPECT_EQ(experiment.runs()[2].config.method, "random:std=0.0078125");
  EXPECT_EQ(experiment.runs()[0].config.seed, 4);
  EXPECT_EQ(experiment.runs()[0].config.threads, 1);
  EXPECT_EQ(experiment.runs()[15].config.batch_size, 64);
}

TEST(Overrides, AnExtraKeepsOfItsOwnSettingsWhatTheFlagNamesToo) {
  const auto text = with(R"(method = [{label = "Full", method = "dense"}, "zero"]
purpose = ["accuracy", "timing"]
seeds = "0-3"
threads = 1
extra = [{label = "A", method = "Full", network = "resnet14", seeds = "0-1", timing_seeds = 1}, {label = "B", method = "Full", network = "resnet14", purpose = "timing"}, {label = "C", method = "Full", network = "resnet14", threads = [1, 2]}])");
  const auto labels = [&](std::vector<std::pair<std::string, std::string>> axes) {
    Overrides overrides;
    overrides.axes = std::move(axes);
    std::vector<std::string> found;
    const auto experiment = parse(text, overrides);
    for (const auto& run : experiment.runs()) {
      if (run.network_label != "resnet14") continue;
      found.push_back(fmt::format("{}{}{}{}", run.method_label, run.config.seed,
                                  run.config.purpose == Purpose::kTiming ? "t" : "a",
                                  run.config.threads));
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(labels({{"purpose", "accuracy"}, {"seeds", "0"}}), (List{"A0a1", "C0a1", "C0a2"}));
  // Timed seeds none of which is run any more are replaced by the first.
  EXPECT_EQ(labels({{"purpose", "timing"}, {"seeds", "0"}}),
            (List{"A0t1", "B0t1", "C0t1", "C0t2"}));
  EXPECT_EQ(labels({{"purpose", "timing"}, {"seeds", "0-1"}}),
            (List{"A1t1", "B0t1", "B1t1", "C0t1", "C0t2", "C1t1", "C1t2"}));
  EXPECT_EQ(labels({{"purpose", "accuracy"}, {"seeds", "3"}, {"threads", "2"}}), (List{"C3a2"}));
  EXPECT_EQ(labels({{"method", "zero"}}), List{}) << "the labels are gone";
  EXPECT_EQ(labels({{"network", "resnet20"}}), List{});
}

TEST(Overrides, SetReachesIntoARecipeByName) {
  const auto source = std::string(APPROX_SOURCE_DIR) + "/experiments/quickstart.toml";
  Overrides overrides;
  overrides.set = {
      {"recipe.epochs", "2"},       {"recipe.flip", "true"}, {"recipe.optimizer", "adam"},
      {"recipe.nesterov", "false"}, {"title", "a b"},        {"target", "accuracy>=0.5"}};
  const auto experiment = load_experiment(source, overrides, committed_catalogue(), checksum);
  EXPECT_EQ(experiment.runs()[0].config.recipe.epochs, 2);
  EXPECT_TRUE(experiment.runs()[0].config.recipe.flip);
  EXPECT_EQ(experiment.runs()[0].config.recipe.optimizer, UpdateRule::kAdam);
  EXPECT_EQ(experiment.runs()[0].config.recipe.lr_schedule, RateSchedule::kOneCycle)
      << "from the file";
  EXPECT_EQ(experiment.title, "a b");
}

TEST(Overrides, ErrorsNameTheFlag) {
  const auto axis = [](const char* key, const char* value) {
    Overrides overrides;
    overrides.axes = {{key, value}};
    return experiment_message(with(""), overrides);
  };
  const auto set = [](const char* key, const char* value) {
    Overrides overrides;
    overrides.set = {{key, value}};
    return experiment_message(with(""), overrides);
  };
  EXPECT_EQ(axis("method", "zero,randm"),
            "--method: unknown method \"randm\" (did you mean \"random\"?)");
  EXPECT_EQ(axis("batch_size", "0"), "--batch-size: 0: expected an integer from 1 to 65536");
  EXPECT_EQ(axis("batch_size", "x"), "--batch-size: expected a number, got \"x\"");
  EXPECT_EQ(axis("seeds", ""), "--seeds: an empty value");
  EXPECT_EQ(axis("seeds", "3-1"), "--seeds: \"3-1\": 3 lies above 1");
  EXPECT_EQ(axis("methods", "zero"),
            "--methods: is not an axis of an experiment (did you mean \"method\"?)");
  EXPECT_EQ(set("recipe.epoch", "2"),
            "--set recipe.epoch=2: unknown key (did you mean \"recipe.epochs\"?)");
  EXPECT_EQ(set("recipe.epochs", "two"), "--set recipe.epochs=two: expected a number, got \"two\"");
  EXPECT_EQ(set("seed", "2"), "--set seed=2: unknown key (did you mean \"seeds\"?)");
  EXPECT_EQ(set("target", "x\ny = 3").find("--set target="), 0u);
}

}  // namespace
}  // namespace approx
