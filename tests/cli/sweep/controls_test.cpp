#include "cli/sweep/controls.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "core/experiment/iso_time.h"
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
  for (const char* wrong : {"", "iso", "smaller-net", "smaller-net=", "iso-time=2"}) {
    EXPECT_THROW(parse_controls(wrong), Error) << wrong;
  }
}

TEST(Controls, ADenseRunAsShortAsTheMethodIsFast) {
  auto experiment = grid();
  const size_t before = experiment.runs().size();
  const auto left_out =
      add_controls(experiment, {.iso_time = true},
                   {{{"Zero", "S", "wang_cnn2"}, 1.25}, {{"random", "S", "wang_cnn2"}, 1.01}},
                   test_catalogue(), controls_checksum);
  ASSERT_EQ(experiment.runs().size(), before + 2);  // one a seed
  const auto& control = experiment.runs().back();
  EXPECT_EQ(control.method_label, "dense in the time of Zero, S");
  EXPECT_EQ(control.config.method, "dense");
  EXPECT_TRUE(control.config.schedule.empty());
  EXPECT_EQ(control.config.recipe.epochs, 8);  // 10 / 1.25
  EXPECT_EQ(control.config.seed, 1);
  // A hundredth faster does not buy an epoch of ten.
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_NE(left_out[0].find("random, S on wang_cnn2: 1.01x"), std::string::npos) << left_out[0];
  // Without a timing there is no control, and it is said.
  auto untimed = grid();
  EXPECT_EQ(
      add_controls(untimed, {.iso_time = true}, {}, test_catalogue(), controls_checksum).size(),
      2u);
  EXPECT_EQ(untimed.runs().size(), before);
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

TEST(Shortened, TakesTheLearningRateThroughTheSameCourse) {
  Recipe recipe;
  recipe.epochs = 100;
  recipe.lr_schedule = RateSchedule::kExponential;
  recipe.decay = 0.95;
  const auto half = shortened(recipe, 50);
  EXPECT_EQ(half.epochs, 50);
  EXPECT_NEAR(std::pow(half.decay, 50), std::pow(recipe.decay, 100), 1e-12);

  recipe.lr_schedule = RateSchedule::kStep;
  recipe.decay_epochs = 30;
  EXPECT_EQ(shortened(recipe, 50).decay_epochs, 15);
  EXPECT_EQ(shortened(recipe, 1).decay_epochs, 1);

  recipe.lr_schedule = RateSchedule::kMilestones;
  recipe.milestones = {60, 61, 90};
  EXPECT_EQ(shortened(recipe, 50).milestones, (std::vector<int64_t>{30, 31, 45}));

  recipe.lr_schedule = RateSchedule::kTriangular;
  recipe.peak_epoch = 20;
  recipe.warmup_epochs = 10;
  recipe.eval_every = 80;
  const auto quarter = shortened(recipe, 25);
  EXPECT_EQ(quarter.peak_epoch, 5);
  EXPECT_EQ(quarter.warmup_epochs, 3);
  EXPECT_EQ(quarter.eval_every, 25);
  EXPECT_EQ(shortened(recipe, 100), recipe);
}

}  // namespace
}  // namespace approx
