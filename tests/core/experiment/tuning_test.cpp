#include "core/experiment/tuning.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "core/config/run_key.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

std::string checksum_of(const std::string& name) { return "sha of " + name; }

const HeldOutAccuracy kNothing = [](const std::string&) { return std::nullopt; };

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
  const auto trials = tuning_runs(stops, kNothing, test_catalogue(), checksum_of);
  const auto others = tuning_runs(tuned(), kNothing, test_catalogue(), checksum_of);
  ASSERT_EQ(trials.runs().size(), others.runs().size());
  for (size_t i = 0; i < trials.runs().size(); ++i) {
    EXPECT_EQ(trials.runs()[i].key, others.runs()[i].key);
  }
}

TEST(Tuning, TriesEveryRateForEveryArmByItsOwnSeedsOnHeldOutImages) {
  const auto trials = tuning_runs(tuned(), kNothing, test_catalogue(), checksum_of);
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

// Held-out accuracies by method and rate, alike for both seeds; what is not there
// was not run.
using Reached = std::map<std::pair<std::string, double>, double>;
HeldOutAccuracy reached(const Reached& accuracies) {
  std::map<std::string, double> known;
  const auto trials = tuning_runs(tuned(), kNothing, test_catalogue(), checksum_of);
  for (auto run : trials.runs()) {
    for (const auto& [of, accuracy] : accuracies) {
      if (of.first != run.method_label) continue;
      run.config.recipe.learning_rate = of.second;
      known[run_key(run.config, checksum_of(run.config.dataset), test_catalogue())] = accuracy;
    }
  }
  return [known](const std::string& key) {
    const auto found = known.find(key);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
}

// The rates that a method's arm is to be tried at, given what was reached.
std::set<double> rates_of(const std::string& method, const HeldOutAccuracy& accuracy) {
  std::set<double> rates;
  const auto trials = tuning_runs(tuned(), accuracy, test_catalogue(), checksum_of);
  for (const auto& run : trials.runs()) {
    if (run.method_label == method) rates.insert(run.config.recipe.learning_rate);
  }
  return rates;
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
          "next 0.2, 50.00 %; not enclosed: 0.1 is the lowest that was tried; sweep --tune goes on "
          "with 0.05"}));
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

// Each arm for itself, by factors of two, until the best is inside.
TEST(Tuning, GoesOnBeyondTheFileUntilTheBestIsEnclosed) {
  Reached known = {{{"dense", 0.1}, 0.3}, {{"dense", 0.2}, 0.5}, {{"dense", 0.4}, 0.4},
                   {{"zero", 0.1}, 0.1},  {{"zero", 0.2}, 0.2},  {{"zero", 0.4}, 0.3}};
  EXPECT_EQ(rates_of("dense", reached(known)), (std::set<double>{0.1, 0.2, 0.4}));
  EXPECT_EQ(rates_of("zero", reached(known)), (std::set<double>{0.1, 0.2, 0.4, 0.8}));
  known[{"zero", 0.8}] = 0.4;
  EXPECT_EQ(rates_of("zero", reached(known)), (std::set<double>{0.1, 0.2, 0.4, 0.8, 1.6}));
  auto experiment = tuned();
  auto lines = take_tuned_rates(experiment, reached(known), test_catalogue(), checksum_of);
  EXPECT_EQ(lines.at(1),
            "zero, slice on small_cnn: learning rate 0.8, 40.00 % of held-out images (2 seeds); "
            "next 0.4, 30.00 %; not enclosed: 0.8 is the highest that was tried; sweep --tune goes "
            "on with 1.6");
  known[{"zero", 1.6}] = 0.35;
  EXPECT_EQ(rates_of("zero", reached(known)), (std::set<double>{0.1, 0.2, 0.4, 0.8, 1.6}));
  experiment = tuned();
  lines = take_tuned_rates(experiment, reached(known), test_catalogue(), checksum_of);
  EXPECT_EQ(lines.at(1),
            "zero, slice on small_cnn: learning rate 0.8, 40.00 % of held-out images (2 seeds); "
            "next 1.6, 35.00 %");
  for (const auto& run : experiment.runs()) {
    if (run.method_label != "zero") continue;
    EXPECT_EQ(run.config.recipe.learning_rate, 0.8);
  }
}

// A rate at which nothing diverges may lie below; where there is none, that is said and no run is
// made.
TEST(Tuning, WhereEverythingDivergesLowerRatesAreTriedAndThenNoMore) {
  Reached known = {{{"zero", 0.1}, 0}, {{"zero", 0.2}, 0}, {{"zero", 0.4}, 0}};
  double rate = 0.1;
  for (int64_t i = 0; i < kMostWidenings; ++i) {
    rate /= 2;
    EXPECT_TRUE(rates_of("zero", reached(known)).contains(rate)) << rate;
    known[{"zero", rate}] = 0;
  }
  EXPECT_EQ(rates_of("zero", reached(known)).size(), 3U + kMostWidenings);
  auto experiment = tuned();
  const auto lines = take_tuned_rates(experiment, reached(known), test_catalogue(), checksum_of);
  EXPECT_NE(lines.at(1).find("not enclosed: every rate that was tried diverged"), std::string::npos)
      << lines.at(1);
  for (const auto& run : experiment.runs()) {
    if (run.method_label != "zero") continue;
    EXPECT_EQ(run.excluded, kDivergesEverywhere);
  }
}

// One seed may have its best inside by chance: two must.
TEST(Tuning, SeedsThatDisagreeEncloseNothing) {
  const Trials agree = {{0.1, {{100, 0.3}, {101, 0.2}}},
                        {0.2, {{100, 0.5}, {101, 0.4}}},
                        {0.4, {{100, 0.4}, {101, 0.3}}}};
  EXPECT_EQ(place_of(0.2, agree), RatePlace::kEnclosed);
  EXPECT_EQ(place_of(0.1, agree), RatePlace::kNotBest);
  EXPECT_EQ(place_of(0.3, agree), RatePlace::kUntried);
  EXPECT_EQ(why_open(0.2, agree), "");
  EXPECT_EQ(next_rate(agree, {0.1, 0.2, 0.4}), std::nullopt);
  Trials differ = agree;
  differ[0.4][101] = 0.45;
  EXPECT_EQ(place_of(0.2, differ), RatePlace::kFewSeeds);
  EXPECT_EQ(next_rate(differ, {0.1, 0.2, 0.4}), 0.8);
  Trials one_seed = agree;
  for (auto& [rate, by_seed] : one_seed) by_seed.erase(101);
  EXPECT_EQ(place_of(0.2, one_seed), RatePlace::kFewSeeds);
  EXPECT_EQ(next_rate(one_seed, {0.1, 0.2, 0.4}), std::nullopt);  // more seeds, not more rates
  EXPECT_EQ(why_open(0.2, one_seed),
            "0.2 is the best inside of the range by fewer than 2 tuning seeds");
}

// An end that does as well as the best inside encloses nothing, by the mean or for a seed.
TEST(Tuning, AnEndThatIsAsGoodEnclosesNothing) {
  Trials trials = {{0.1, {{100, 0.3}, {101, 0.2}}},
                   {0.2, {{100, 0.5}, {101, 0.4}}},
                   {0.4, {{100, 0.5}, {101, 0.4}}}};
  EXPECT_EQ(place_of(0.2, trials), RatePlace::kHighest);
  EXPECT_EQ(why_open(0.2, trials), "0.4, the highest that was tried, did as well as 0.2");
  EXPECT_EQ(next_rate(trials, {0.1, 0.2, 0.4}), 0.8);
  trials[0.4][101] = 0.3;  // still as good for one of two seeds
  EXPECT_EQ(place_of(0.2, trials), RatePlace::kFewSeeds);
  EXPECT_EQ(next_rate(trials, {0.1, 0.2, 0.4}), 0.8);
  trials[0.4][100] = 0.4;
  EXPECT_EQ(place_of(0.2, trials), RatePlace::kEnclosed);
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

// Trials may be shorter than what they tune; the run keeps its length, and its trials are found by
// it.
TEST(Tuning, TrialsMayBeShorter) {
  const auto parsed = [](const std::string& length) {
    return parse_experiment(
        "id = \"x\"\nnetwork = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = \"dense\"\n"
        "seeds = \"0-2\"\nthreads = 1\nrecipe = { epochs = 10, lr_schedule = \"exponential\", "
        "decay = 0.9 }\ntune = { learning_rate = [0.1, 0.2], seeds = \"100-101\", length = " +
            length + " }\n",
        "x.toml", {}, test_catalogue(), checksum_of);
  };
  const auto experiment = parsed("0.25");
  const auto trials = tuning_runs(experiment, kNothing, test_catalogue(), checksum_of);
  for (const auto& run : trials.runs()) {
    EXPECT_NEAR(length_in_epochs(run.config.recipe), 2.5, 1e-9);
    EXPECT_EQ(arm_name(run.config), arm_name(experiment.runs()[0].config));
  }
  auto taken = experiment;
  const auto half = [](const std::string&) { return std::optional(0.5); };
  take_tuned_rates(taken, half, test_catalogue(), checksum_of);
  EXPECT_EQ(taken.runs()[0].config.recipe.epochs, 10);
  RunConfig other = experiment.runs()[0].config;
  other.recipe.momentum = 0.5;
  EXPECT_NE(arm_name(other), arm_name(experiment.runs()[0].config));
  EXPECT_THROW(parsed("0"), Error);
  EXPECT_THROW(parsed("1.5"), Error);
}

TEST(Tuning, AnExtraMayKeepTheRateOfItsRecipe) {
  const char* extra =
      "[[extra]]\nnetwork = \"wang_cnn2\"\nmethod = \"dense\"\npurpose = \"accuracy\"\ntune = {}\n";
  auto experiment = tuned(fmt::format(fmt::runtime(extra), "false"));
  const auto trials = tuning_runs(experiment, kNothing, test_catalogue(), checksum_of);
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
      "x.toml:5:39: tune.seeds: seed 5 is evaluated too: a rate cannot be judged by a seed that "
      "chose it; give other seeds");
  EXPECT_EQ(message_of("tune = { learning_rate = [0.1, 0.1], seeds = 9 }"),
            "x.toml:4:26: tune.learning_rate: a rate is given twice");
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
