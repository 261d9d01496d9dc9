#include "core/train/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace approx {
namespace {

// Ten epochs of ten steps up to 0.4.
Recipe ten_epochs(const std::string& schedule) {
  Recipe recipe;
  recipe.learning_rate = 0.4;
  recipe.epochs = 10;
  recipe.lr_schedule = parse<RateSchedule>(schedule, "schedule");
  return recipe;
}

TEST(LearningRate, Constant) {
  const auto recipe = ten_epochs("constant");
  for (const int64_t step : {0, 55, 99}) EXPECT_EQ(learning_rate(recipe, step, 10), 0.4);
}

TEST(LearningRate, ExponentialFallsEveryEpoch) {
  auto recipe = ten_epochs("exponential");
  recipe.decay = 0.5;
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 9, 10), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 10, 10), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 29, 10), 0.1);
}

TEST(LearningRate, StepFallsEverySoManyEpochs) {
  auto recipe = ten_epochs("step");
  recipe.decay = 0.5;
  recipe.decay_epochs = 4;
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 39, 10), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 40, 10), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 80, 10), 0.1);
}

TEST(LearningRate, MilestonesFallWhereTheyAre) {
  auto recipe = ten_epochs("milestones");
  recipe.decay = 0.5;
  recipe.milestones = {3, 4, 9};
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 29, 10), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 30, 10), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 39, 10), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 40, 10), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 89, 10), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 99, 10), 0.05);
}

TEST(LearningRate, CosineFallsToNothing) {
  const auto recipe = ten_epochs("cosine");
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 0, 10), 0.4);
  EXPECT_NEAR(learning_rate(recipe, 50, 10), 0.2, 1e-12);
  EXPECT_NEAR(learning_rate(recipe, 99, 10), 0.2 * (1 - std::cos(std::numbers::pi / 100)), 1e-12);
}

TEST(LearningRate, OneCycleRisesAndFalls) {
  auto recipe = ten_epochs("onecycle");
  recipe.warmup = 0.3;
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 0, 10), 0.4 / 25);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 15, 10), (0.4 / 25 + 0.4) / 2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 30, 10), 0.4);
  EXPECT_NEAR(learning_rate(recipe, 65, 10), (0.4 + 0.4 / 1e4) / 2, 1e-12);
  const double fall = 0.4 - 0.4 / 1e4;
  EXPECT_NEAR(learning_rate(recipe, 99, 10),
              0.4 / 1e4 + fall / 2 * (1 - std::cos(std::numbers::pi / 70)), 1e-12);
}

TEST(LearningRate, TriangularIsLinearOnBothSidesOfItsPeak) {
  auto recipe = ten_epochs("triangular");
  recipe.peak_epoch = 2;
  EXPECT_EQ(learning_rate(recipe, 0, 10), 0);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 10, 10), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 20, 10), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 60, 10), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 99, 10), 0.4 / 80);
  recipe.peak_epoch = 0;
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 0, 10), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 50, 10), 0.2);
  recipe.peak_epoch = 20;
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 99, 10), 0.4 * 99 / 200) << "it ends before its peak";
}

// The published ramp of airbench94, and the one of a ResNet-9 in ten epochs.
TEST(LearningRate, PointsAreCornersOfTheWholeCourse) {
  auto recipe = ten_epochs("points");
  recipe.rate_points = parse_rate_points("0:0.2,0.23:1,1:0.07");
  const auto published = [](int64_t step) {
    const auto at = static_cast<double>(step);
    return 0.4 * (step < 23 ? 0.2 + 0.8 * at / 23 : 1 - 0.93 * (at - 23) / 77);
  };
  for (int64_t step = 0; step < 100; ++step) {
    EXPECT_NEAR(learning_rate(recipe, step, 10), published(step), 1e-15) << step;
  }
  recipe.rate_points = parse_rate_points("0:0,0.2:1,0.8:0.1,1:0.1");
  EXPECT_EQ(learning_rate(recipe, 0, 10), 0);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 10, 10), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 20, 10), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 50, 10), 0.4 * 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 90, 10), 0.04);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 1000, 10), 0.04) << "beyond the end";
}

// A timing run makes as many steps as it times, however short the recipe is.
TEST(LearningRate, StaysWhereTheTrainingEnds) {
  for (const auto schedule : all_of_enum<RateSchedule>()) {
    auto recipe = ten_epochs(std::string(name(schedule)));
    recipe.decay = 0.5;
    recipe.decay_epochs = 5;
    recipe.milestones = {3, 10};
    recipe.rate_points = parse_rate_points("0:0,0.2:1,1:0");
    recipe.peak_epoch = 2;
    const double last = learning_rate(recipe, 99, 10);
    EXPECT_GT(last, 0) << name(schedule);
    for (const int64_t step : {100, 110, 1000}) {
      EXPECT_EQ(learning_rate(recipe, step, 10), last) << name(schedule) << ' ' << step;
    }
    recipe.warmup_epochs = 20;  // longer than all
    EXPECT_EQ(learning_rate(recipe, 1000, 10), learning_rate(recipe, 99, 10)) << name(schedule);
  }
}

// The course is that of the steps that are made: it does not break off.
TEST(LearningRate, ComesToItsEndWithinAnEpoch) {
  for (const char* schedule : {"cosine", "onecycle", "triangular", "points"}) {
    auto recipe = ten_epochs(schedule);
    recipe.rate_points = parse_rate_points("0:0.2,0.23:1,1:0.07");
    recipe.peak_epoch = 2;
    auto longer = recipe;
    recipe.epochs = 6;
    recipe.last_epoch = 0.4;  // 54 steps
    longer.epochs = 54;       // of one step
    longer.peak_epoch = 20;
    for (const int64_t step : {0, 19, 30, 53}) {
      EXPECT_DOUBLE_EQ(learning_rate(recipe, step, 10), learning_rate(longer, step, 1))
          << schedule << ' ' << step;
    }
  }
}

TEST(LearningRate, WarmupLeadsLinearlyIntoAnySchedule) {
  for (const std::string schedule : {"constant", "exponential", "step", "cosine", "onecycle"}) {
    auto recipe = ten_epochs(schedule);
    const auto without = [&](int64_t step) { return learning_rate(recipe, step, 10); };
    const double first = without(0), half = without(9), last = without(19), after = without(20);
    recipe.warmup_epochs = 2;
    EXPECT_DOUBLE_EQ(learning_rate(recipe, 0, 10), first / 20) << schedule;
    EXPECT_DOUBLE_EQ(learning_rate(recipe, 9, 10), half / 2) << schedule;
    EXPECT_DOUBLE_EQ(learning_rate(recipe, 19, 10), last) << schedule;
    EXPECT_DOUBLE_EQ(learning_rate(recipe, 20, 10), after) << schedule;
  }
}

}  // namespace
}  // namespace approx
