#include "core/experiment/tuning.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "core/config/run_key.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

std::string checksum_of(const std::string& name) { return "sha of " + name; }

Experiment tuned(const std::string& more = "", const Overrides& overrides = {}) {
  return parse_experiment(
      "id = \"x\"\nnetwork = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = [\"dense\", \"zero\"]\n"
      "purpose = [\"accuracy\", \"timing\"]\nsplit = \"paper\"\nseeds = \"0-2\"\nthreads = 1\n"
      "recipe = { learning_rate = 0.7, epochs = 3 }\n"
      "tune = { learning_rate = [0.2, 0.1, 0.4], seeds = \"100-101\" }\n" +
          more,
      "x.toml", overrides, test_catalogue(), checksum_of);
}

std::string message_of(const std::string& text) {
  try {
    parse_experiment("network = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = \"dense\"\n" + text,
                     "x.toml", {}, test_catalogue(), checksum_of);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// A rate is judged by where it leads, also where what it is for ends at a target.
TEST(Tuning, GoesToTheEnd) {
  const auto stops = tuned("target = \"accuracy>=0.9\"\n", {.stop_at_target = true});
  EXPECT_EQ(stops.runs()[0].config.stop_at, 0.9);
  const auto trials = tuning_runs(stops, test_catalogue(), checksum_of);
  const auto others = tuning_runs(tuned(), test_catalogue(), checksum_of);
  ASSERT_EQ(trials.runs().size(), others.runs().size());
  for (size_t i = 0; i < trials.runs().size(); ++i) {
    EXPECT_EQ(trials.runs()[i].key, others.runs()[i].key);
  }
}

TEST(Tuning, TriesEveryRateForEveryArmByItsOwnSeedsOnHeldOutImages) {
  const auto trials = tuning_runs(tuned(), test_catalogue(), checksum_of);
  EXPECT_EQ(trials.id, "x:tune");
  EXPECT_FALSE(trials.tuning.has_value());
  ASSERT_EQ(trials.runs().size(), 2u * 3u * 2u);  // arms, rates, seeds
  std::set<std::string> keys;
  for (const auto& run : trials.runs()) {
    EXPECT_EQ(run.config.purpose, Purpose::kAccuracy);
    EXPECT_EQ(run.config.split, SplitKind::kHoldout);
    EXPECT_GE(run.config.seed, 100);
    EXPECT_EQ(run.config.recipe.epochs, 3);
    EXPECT_EQ(run.key, run_key(run.config, "sha of mnist14", test_catalogue()));
    keys.insert(run.key);
  }
  EXPECT_EQ(keys.size(), trials.runs().size());
}

// Held-out accuracies by method and rate; every seed reaches the same.
HeldOutAccuracy reached(const std::map<std::pair<std::string, double>, double>& accuracies) {
  std::map<std::string, double> known;
  const auto trials = tuning_runs(tuned(), test_catalogue(), checksum_of);
  for (const auto& run : trials.runs()) {
    const auto found = accuracies.find({run.method_label, run.config.recipe.learning_rate});
    if (found != accuracies.end()) known[run.key] = found->second;
  }
  return [known](const std::string& key) {
    const auto found = known.find(key);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Tuning, EveryRunTakesTheBestRateOfItsArmAndTheKeyThatFollows) {
  auto experiment = tuned();
  const auto before = experiment.runs();
  const auto lines = take_tuned_rates(experiment,
                                      reached({{{"dense", 0.1}, 0.5},
                                               {{"dense", 0.2}, 0.625},
                                               {{"dense", 0.4}, 0},
                                               {{"zero", 0.1}, 0.5},
                                               {{"zero", 0.2}, 0.5},
                                               {{"zero", 0.4}, 0.25}}),
                                      test_catalogue(), checksum_of);
  EXPECT_EQ(
      lines,
      (std::vector<std::string>{
          "dense on small_cnn: learning rate 0.2, 62.50 % of held-out images (2 seeds); next "
          "0.1, 50.00 %",
          // Of two alike the lower.
          "zero, slice on small_cnn: learning rate 0.1, 50.00 % of held-out images (2 seeds); "
          "next 0.2, 50.00 %; the lowest candidate: a better one may lie beyond"}));
  ASSERT_EQ(experiment.runs().size(), before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    const auto& run = experiment.runs()[i];
    const double rate = run.method_label == "dense" ? 0.2 : 0.1;
    EXPECT_EQ(run.config.recipe.learning_rate, rate);  // timing runs too
    EXPECT_EQ(run.config.split, SplitKind::kPaper);
    RunConfig plain = before[i].config;
    plain.recipe.learning_rate = rate;
    EXPECT_EQ(run.key, run_key(plain, "sha of mnist14", test_catalogue()));
    EXPECT_NE(run.key, before[i].key);
  }
}

TEST(Tuning, ARowWithoutAllItsTrialsIsLeftOut) {
  auto experiment = tuned();
  const auto lines = take_tuned_rates(experiment,
                                      reached({{{"dense", 0.1}, 0.5},
                                               {{"dense", 0.2}, 0.6},
                                               {{"dense", 0.4}, 0.1},
                                               {{"zero", 0.1}, 0.5}}),
                                      test_catalogue(), checksum_of);
  EXPECT_EQ(lines.at(1), "zero, slice on small_cnn: not tuned yet");
  for (const auto& run : experiment.runs()) {
    EXPECT_EQ(run.excluded, run.method_label == "zero" ? kNotTuned : "");
  }
}

TEST(Tuning, AnExtraMayKeepTheRateOfItsRecipe) {
  const char* extra =
      "[[extra]]\nnetwork = \"wang_cnn2\"\nmethod = \"dense\"\npurpose = \"accuracy\"\ntune = {}\n";
  auto experiment = tuned(fmt::format(fmt::runtime(extra), "false"));
  const auto trials = tuning_runs(experiment, test_catalogue(), checksum_of);
  EXPECT_EQ(trials.runs().size(), 2u * 3u * 2u);
  take_tuned_rates(experiment, reached({}), test_catalogue(), checksum_of);
  for (const auto& run : experiment.runs()) {
    EXPECT_EQ(run.excluded.empty(), run.network_label == "wang_cnn2") << run.network_label;
    EXPECT_EQ(run.config.recipe.learning_rate, 0.7);
  }
  EXPECT_THROW(tuned(fmt::format(fmt::runtime(extra), "true")), Error);
}

TEST(Tuning, MayNotUseASeedThatIsEvaluated) {
  EXPECT_EQ(
      message_of("seeds = \"0-5\"\ntune = { learning_rate = 0.1, seeds = \"5-6\" }"),
      "x.toml:5:39: tune.seeds: 5 is among the seeds that are evaluated: what was chosen by a "
      "seed cannot be judged by it");
  EXPECT_EQ(message_of("tune = { learning_rate = [0.1, 0.1], seeds = 9 }"),
            "x.toml:4:26: tune.learning_rate: the same rate twice");
  EXPECT_EQ(message_of("tune = { seeds = 9 }"), "x.toml:4:8: tune: learning_rate is missing");
  EXPECT_NE(message_of("tune = { learning_rate = -1, seeds = 9 }").find("learning_rate"),
            std::string::npos);
}

TEST(Tuning, ARateThatAFlagGivesTakesItsPlace) {
  Overrides overrides;
  overrides.set = {{"recipe.epochs", "2"}};
  EXPECT_TRUE(tuned("", overrides).tuning.has_value());
  overrides.set = {{"recipe.learning_rate", "0.3"}};
  const auto given = tuned("", overrides);
  EXPECT_FALSE(given.tuning.has_value());
  EXPECT_EQ(given.runs()[0].config.recipe.learning_rate, 0.3);
}

}  // namespace
}  // namespace approx
