#include "cli/sweep/controls.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "core/experiment/iso_time.h"
#include "core/experiment/tuning.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

std::string controls_checksum(const std::string& name) { return "sha of " + name; }

Experiment grid() {
  return parse_experiment(R"(
network = "wang_cnn2"
dataset = "mnist14"
method = ["dense", { label = "Zero", method = "zero" }, "random"]
schedule = { label = "S", schedule = "wang2019_cnn2" }
seeds = "0-1"
recipe = { epochs = 10, lr_schedule = "exponential", decay = 0.9 }
)",
                          "x.toml", {}, test_catalogue(), controls_checksum);
}

TEST(Controls, AreReadFromAFlag) {
  EXPECT_TRUE(parse_controls("iso-time").iso_time);
  const auto both = parse_controls("iso-time, smaller-net=small_cnn");
  EXPECT_TRUE(both.iso_time);
  EXPECT_EQ(both.smaller_net, "small_cnn");
  EXPECT_FALSE(both.random);
  EXPECT_TRUE(parse_controls("random").random);
  for (const char* wrong : {"", "iso", "smaller-net", "smaller-net=", "iso-time=2"}) {
    EXPECT_THROW(parse_controls(wrong), Error) << wrong;
  }
}

TEST(Controls, ADenseRunAsShortAsTheMethodIsFast) {
  auto experiment = grid();
  const size_t before = experiment.runs().size();
  const auto left_out = add_controls(
      experiment, {.iso_time = true},
      {.speedups = {{{"Zero", "S", "wang_cnn2"}, 1.25}, {{"random", "S", "wang_cnn2"}, 0.99}}},
      test_catalogue(), controls_checksum);
  ASSERT_EQ(experiment.runs().size(), before + 2);  // one a seed
  const auto& control = experiment.runs().back();
  EXPECT_EQ(control.method_label, "dense in the time of Zero, S");
  EXPECT_EQ(control.config.method, "dense");
  EXPECT_TRUE(control.config.schedule.empty());
  EXPECT_EQ(control.config.recipe.epochs, 8);  // 10 / 1.25
  EXPECT_EQ(control.config.seed, 1);
  EXPECT_EQ(control.config.recipe.last_epoch, 1);
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_NE(
      left_out[0].find("random, S on wang_cnn2: its speedup may be 0.99x, which saves no time"),
      std::string::npos)
      << left_out[0];
  // Without a timing there is no control, and it is said.
  auto untimed = grid();
  EXPECT_EQ(
      add_controls(untimed, {.iso_time = true}, {}, test_catalogue(), controls_checksum).size(),
      2u);
  EXPECT_EQ(untimed.runs().size(), before);
}

TEST(Controls, ATimingOfOneProcessGivesNone) {
  auto experiment = grid();
  const size_t before = experiment.runs().size();
  const auto left_out = add_controls(experiment, {.iso_time = true},
                                     {.timed_in_few = {{{"Zero", "S", "wang_cnn2"}, 1}}},
                                     test_catalogue(), controls_checksum);
  EXPECT_EQ(experiment.runs().size(), before);
  ASSERT_FALSE(left_out.empty());
  EXPECT_NE(left_out[0].find("Zero, S on wang_cnn2: its speed was timed in 1 process, a control "
                             "needs 5; sweep with --purpose timing --set timing_seeds=0-4 first"),
            std::string::npos)
      << left_out[0];
}

// Each arm may be tuned to a learning rate of its own; the control trains as exact training does.
TEST(Controls, ADenseRunHasTheLearningRateOfTheExactRow) {
  auto experiment = grid();
  for (auto& run : std::get<Trainings>(experiment.work).runs) {
    run.config.recipe.learning_rate = run.config.method == kDense ? 0.05 : 0.2;
  }
  add_controls(experiment, {.iso_time = true}, {.speedups = {{{"Zero", "S", "wang_cnn2"}, 1.25}}},
               test_catalogue(), controls_checksum);
  const auto& control = experiment.runs().back();
  EXPECT_EQ(control.method_label, "dense in the time of Zero, S");
  EXPECT_EQ(control.config.recipe.learning_rate, 0.05);
  EXPECT_EQ(control.config.recipe.epochs, 8);
  // A sweep of some arms may lack that row; of a tuned experiment nothing else has its rate.
  for (const bool tuned : {false, true}) {
    auto alone = grid();
    auto& runs = std::get<Trainings>(alone.work).runs;
    std::erase_if(runs, [](const PlannedRun& run) { return run.config.method == kDense; });
    if (tuned) alone.tuning = Tuning();
    const size_t before = runs.size();
    const auto left_out =
        add_controls(alone, {.iso_time = true}, {.speedups = {{{"Zero", "S", "wang_cnn2"}, 1.25}}},
                     test_catalogue(), controls_checksum);
    EXPECT_EQ(alone.runs().size(), tuned ? before : before + 2);
    ASSERT_EQ(left_out.size(), tuned ? 2u : 1u);
    if (tuned) {
      EXPECT_NE(left_out[0].find("is not in this sweep"), std::string::npos) << left_out[0];
    }
  }
}

// What a shorter training would show, the dense runs themselves show on their way.
TEST(Controls, UnderAConstantRateNoShorterTrainingIsRun) {
  auto experiment = grid();
  for (auto& run : std::get<Trainings>(experiment.work).runs) {
    run.config.recipe.lr_schedule = RateSchedule::kConstant;
  }
  const size_t before = experiment.runs().size();
  const auto left_out = add_controls(experiment, {.iso_time = true},
                                     {.speedups = {{{"Zero", "S", "wang_cnn2"}, 1.25}}},
                                     test_catalogue(), controls_checksum);
  EXPECT_EQ(experiment.runs().size(), before);
  ASSERT_EQ(left_out.size(), 2u);
  EXPECT_NE(left_out[0].find("Zero, S on wang_cnn2: under a constant learning rate"),
            std::string::npos)
      << left_out[0];
}

// A method that chooses and one that does at random, in a catalogue of their own.
Catalogue twins() {
  Catalogue catalogue = test_catalogue();
  MethodInfo chooser, picker;
  chooser.name = "chooser";
  chooser.products = picker.products = {Product::kWeightGradient};
  chooser.params = {{"k", int64_t{3}, "", 1},
                    {"ratio", 0.0, "", 0, 1},
                    {"share", 0.0, "", 0, 1},
                    {"own", int64_t{0}, ""}};
  chooser.random_twin = "picker:fixed=2";
  picker.name = "picker";
  picker.params = {{"k", int64_t{1}, "", 1},
                   {"ratio", 0.0, "", 0, 1},
                   {"share", 0.0, "", 0, 1},
                   {"fixed", int64_t{0}, ""}};
  catalogue.methods.push_back(chooser);
  catalogue.methods.push_back(picker);
  chooser.name = "data_chooser";
  chooser.twin_by_density = true;
  catalogue.methods.push_back(chooser);
  chooser.name = "sharer";
  chooser.twin_by_density = false;
  chooser.params = {{"ratio", 0.04, "", 0, 1}};
  catalogue.methods.push_back(chooser);
  return catalogue;
}

TEST(RandomTwin, HasTheParametersThatBothDeclare) {
  const auto catalogue = twins();
  const auto twin = [&](const std::string& method, std::optional<double> density = {}) {
    const auto found = random_twin(method, density, catalogue);
    return found.method.empty() ? found.why_none.substr(0, 20)
                                : catalogue.method_params(found.method).full_text();
  };
  EXPECT_EQ(twin("chooser:k=7,own=1"), "picker:k=7,ratio=0,share=0,fixed=2");
  EXPECT_EQ(twin("zero"), "it chooses nothing b");
  // How much these keep no parameter says.
  EXPECT_EQ(twin("data_chooser"), "how much it keeps fo");
  EXPECT_EQ(twin("data_chooser", 0.25), "picker:k=3,ratio=0.25,share=0,fixed=2");
  EXPECT_EQ(twin("chooser:share=0.9", 0.5), "picker:k=3,ratio=0.5,share=0,fixed=2");
  // A ratio of 0 would say to the picker to go by its k.
  EXPECT_EQ(twin("sharer"), "picker:k=1,ratio=0.04,share=0,fixed=2");
  EXPECT_EQ(twin("sharer:ratio=0"), "the share it keeps i");
  EXPECT_EQ(twin("data_chooser", 0), "the share it keeps i");
}

TEST(Controls, ARandomChoiceIsARowOfItsOwn) {
  auto experiment = grid();
  for (auto& run : std::get<Trainings>(experiment.work).runs) {
    if (run.method_label == "Zero") run.config.method = "chooser";
    if (run.config.seed == 1) run.config.purpose = Purpose::kTiming;
  }
  const size_t before = experiment.runs().size();
  const auto left_out = add_controls(experiment, {.random = true}, {}, twins(), controls_checksum);
  ASSERT_EQ(experiment.runs().size(), before + 2) << "one a seed, accuracy and timing";
  const auto& control = experiment.runs().back();
  EXPECT_EQ(control.method_label, "random in place of Zero");
  EXPECT_EQ(control.schedule_label, "S");
  EXPECT_FALSE(control.config.schedule.empty());
  EXPECT_EQ(control.config.method.substr(0, 6), "picker");
  EXPECT_EQ(control.config.purpose, Purpose::kTiming);
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_NE(left_out[0].find("random, S on wang_cnn2: it chooses nothing"), std::string::npos);
}

// A control replaces the method of the run alone; what a rule chooses by looking it would keep.
// A control is held against nothing but what it controls.
TEST(Controls, HaveNoControlsOfTheirOwn) {
  auto experiment = grid();
  const StoredRows stored{
      .speedups = {{{"Zero", "S", "wang_cnn2"}, 1.25}, {{"random", "S", "wang_cnn2"}, 1.6}}};
  add_controls(experiment, {.smaller_net = "small_cnn"}, stored, test_catalogue(),
               controls_checksum);
  const size_t with_smaller = experiment.runs().size();
  add_controls(experiment, {.iso_time = true, .smaller_net = "wang_cnn2"}, stored, test_catalogue(),
               controls_checksum);
  for (size_t i = with_smaller; i < experiment.runs().size(); ++i) {
    const auto& run = experiment.runs()[i];
    EXPECT_TRUE(run.method_label.starts_with(kIsoTimePrefix)) << run.method_label;
  }
  EXPECT_EQ(experiment.runs().size(), with_smaller + 4);  // two rows, two seeds
}

// A choice at random may want another learning rate than what it is held against.
TEST(Controls, AreTunedLikeOtherRows) {
  auto experiment = grid();
  experiment.tuning = {.learning_rates = {0.1, 0.2}, .seeds = {100, 101}};
  add_controls(experiment, Controls{.iso_time = true, .smaller_net = "small_cnn"}.own_rows(), {},
               test_catalogue(), controls_checksum);
  const auto nothing = [](const std::string&) { return std::nullopt; };
  const auto trials = tuning_runs(experiment, nothing, test_catalogue(), controls_checksum);
  int64_t of_control = 0;
  for (const auto& run : trials.runs()) of_control += run.network_label == "small_cnn";
  EXPECT_EQ(of_control, 2 * 2);  // rates, seeds
}

TEST(Controls, NoRandomChoiceWhereRulesChooseThemselves) {
  const auto controlled = [](const std::string& method, const std::vector<Rule>& rules) {
    auto experiment = grid();
    auto& runs = std::get<Trainings>(experiment.work).runs;
    std::erase_if(runs, [](const PlannedRun& run) { return run.method_label != "Zero"; });
    for (auto& run : runs) run.config.method = method, run.config.schedule = rules;
    const size_t before = runs.size();
    const auto left_out =
        add_controls(experiment, {.random = true}, {}, twins(), controls_checksum);
    EXPECT_EQ(experiment.runs().size() > before, left_out.empty());
    return left_out.empty() ? "" : left_out.at(0);
  };
  EXPECT_EQ(controlled("mixed", {{.layers = "1", .method = "zero"}, {.method = "chooser"}}),
            "Zero, S on wang_cnn2: its rules name methods of their own, which a control does not "
            "replace");
  EXPECT_EQ(controlled("chooser", {{.layers = "1"}, {.layers = "2", .method = "chooser:k=2"}}),
            "Zero, S on wang_cnn2: a rule names chooser:k=2 of its own, which a control does not "
            "replace");
  EXPECT_EQ(controlled("chooser", {{.layers = "1::1"},
                                   {.layers = "1", .steps = "::2", .method = "zero"},
                                   {.layers = "2", .steps = "::2", .method = "dense"}}),
            "");
}

TEST(Controls, ASmallerNetworkForEachDenseRun) {
  auto experiment = grid();
  const size_t before = experiment.runs().size();
  add_controls(experiment, {.smaller_net = "small_cnn"}, {}, test_catalogue(), controls_checksum);
  ASSERT_EQ(experiment.runs().size(), before + 2);
  EXPECT_EQ(experiment.runs().back().network_label, "small_cnn");
  EXPECT_EQ(experiment.runs().back().method_label, "a smaller network, exactly");
  EXPECT_EQ(experiment.runs().back().config.timed_against, "");
  EXPECT_THROW(add_controls(experiment, {.smaller_net = "smal_cnn"}, {}, test_catalogue(),
                            controls_checksum),
               Error);
}

TEST(Controls, ASmallerNetworkIsTimedAgainstTheLargerOne) {
  auto experiment = grid();
  for (auto& run : std::get<Trainings>(experiment.work).runs) run.config.purpose = Purpose::kTiming;
  const std::string larger = experiment.runs().front().config.network;
  const size_t before = experiment.runs().size();
  add_controls(experiment, {.iso_time = true, .smaller_net = "small_cnn"}, {}, test_catalogue(),
               controls_checksum);
  ASSERT_EQ(experiment.runs().size(), before + 2);
  EXPECT_EQ(experiment.runs().back().config.purpose, Purpose::kTiming);
  EXPECT_EQ(experiment.runs().back().config.timed_against, larger);
}

// An exact training of another length is on the curve of this network alone.
TEST(Controls, ASmallerNetworkStandsBesideTheWholeTrainingAlone) {
  auto experiment = grid();
  for (auto& run : std::get<Trainings>(experiment.work).runs) {
    run.shortened_from = run.config.recipe;
  }
  const size_t before = experiment.runs().size();
  add_controls(experiment, {.smaller_net = "small_cnn"}, {}, test_catalogue(), controls_checksum);
  EXPECT_EQ(experiment.runs().size(), before);
}

// What a row saves is more often a part of an epoch than a whole one.
TEST(Shortened, BreaksTheLastEpochOff) {
  Recipe recipe;
  recipe.epochs = 6;
  const auto shown = [&](double share) {
    const auto shorter = shortened(recipe, share, 0);
    return std::pair(shorter.epochs, shorter.last_epoch);
  };
  EXPECT_EQ(shown(0.5), std::pair(int64_t{3}, 1.0));
  EXPECT_EQ(shown(0.9), std::pair(int64_t{6}, 0.4));
  EXPECT_EQ(shown(0.77), std::pair(int64_t{5}, 0.62));
  EXPECT_EQ(shown(0.17), std::pair(int64_t{2}, 0.02));
  EXPECT_EQ(shown(0.01), std::pair(int64_t{1}, 0.06));
  EXPECT_EQ(shown(1 / 1.1), std::pair(int64_t{6}, 0.46));
  EXPECT_EQ(shown(1), std::pair(int64_t{6}, 1.0));
  EXPECT_EQ(shortened(recipe, 0.9, 0).eval_every, 1);
  // Of a training that ends within an epoch itself.
  recipe.last_epoch = 0.5;
  EXPECT_EQ(shown(0.8), std::pair(int64_t{5}, 0.4));
}

// A last step that an epoch's share breaks off is not made, which would be less time.
TEST(Shortened, HasNoLessThanItsShareOfTheSteps) {
  Recipe recipe;
  recipe.epochs = 6;
  for (const int64_t steps : {7, 39, 78, 391, 5005}) {
    const auto all = static_cast<double>(total_steps(recipe, steps));
    for (const double speedup : {1.001, 1.01, 1.0750, 1.1, 1.108, 1.25, 1.3, 2.0, 7.0}) {
      const auto shorter = shortened(recipe, 1 / speedup, steps);
      const auto made = static_cast<double>(total_steps(shorter, steps));
      EXPECT_GE(made, all / speedup - 1e-6) << steps << " " << speedup;
      EXPECT_LT(made, all / speedup + 1 + static_cast<double>(steps) / 100);
      EXPECT_LE(made, all);
    }
  }
}

TEST(Shortened, TakesTheLearningRateThroughTheSameCourse) {
  Recipe recipe;
  recipe.epochs = 100;
  recipe.lr_schedule = RateSchedule::kExponential;
  recipe.decay = 0.95;
  const auto half = shortened(recipe, 0.5, 0);
  EXPECT_EQ(half.epochs, 50);
  EXPECT_NEAR(std::pow(half.decay, 50), std::pow(recipe.decay, 100), 1e-12);

  recipe.lr_schedule = RateSchedule::kStep;
  recipe.decay_epochs = 30;
  EXPECT_EQ(shortened(recipe, 0.5, 0).decay_epochs, 15);
  EXPECT_EQ(shortened(recipe, 0.01, 0).decay_epochs, 1);

  recipe.lr_schedule = RateSchedule::kMilestones;
  recipe.milestones = {60, 61, 90};
  EXPECT_EQ(shortened(recipe, 0.5, 0).milestones, (std::vector<int64_t>{30, 31, 45}));

  recipe.lr_schedule = RateSchedule::kTriangular;
  recipe.peak_epoch = 20;
  recipe.warmup_epochs = 10;
  recipe.first_bias_epochs = 8;
  recipe.eval_every = 80;
  const auto quarter = shortened(recipe, 0.25, 0);
  EXPECT_EQ(quarter.peak_epoch, 5);
  EXPECT_EQ(shortened(recipe, 0.01, 0).peak_epoch, 1);
  EXPECT_EQ(quarter.warmup_epochs, 3);
  EXPECT_EQ(quarter.first_bias_epochs, 2);
  EXPECT_EQ(shortened(recipe, 0.01, 0).first_bias_epochs, 1) << "0 would be all epochs";
  EXPECT_EQ(quarter.eval_every, 25);
  EXPECT_EQ(shortened(recipe, 1, 0), recipe);
  recipe.peak_epoch = 0;  // it begins at its peak
  EXPECT_EQ(shortened(recipe, 0.25, 0).peak_epoch, 0);
}

}  // namespace
}  // namespace approx
