// The settings of the CIFAR-10 speed records: their checks, and what they leave as it was.
#include "core/config/recipe.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "core/config/run_config.h"
#include "core/experiment/iso_time.h"

namespace approx {
namespace {

std::string refusal_of_recipe(const Json& settings) {
  try {
    check(settings.get<Recipe>());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

const Json& record_settings() {
  static const Json settings = {{"decay_form", "per_step"},
                                {"norm_bias_rate", 64.0},
                                {"ghost_batch", 32},
                                {"flip", true},
                                {"flip_order", "alternating"},
                                {"lookahead_every", 5},
                                {"weight_decay", 0.002},
                                {"lr_schedule", "points"},
                                {"rate_points", "0:0.2,0.23:1,1:0.07"},
                                {"test_shift", 1},
                                {"init", "pytorch"},
                                {"first_bias_epochs", 3}};
  return settings;
}

TEST(RecordRecipe, SettingsAreReadAndWritten) {
  const auto recipe = record_settings().get<Recipe>();
  EXPECT_EQ(Json(recipe).get<Recipe>(), recipe);
  EXPECT_EQ(canonical(recipe), recipe);
  EXPECT_TRUE(idle_settings(recipe).empty());
  const Json written = recipe, plain = Recipe();
  for (const auto& [name, value] : record_settings().items()) EXPECT_EQ(written.at(name), value);
  EXPECT_FALSE(plain.contains("flip_order")) << "the keys of stored runs";
  EXPECT_FALSE(plain.contains("lookahead_every"));
  EXPECT_FALSE(plain.contains("ghost_batch"));
  EXPECT_FALSE(written.contains("lookahead_decay")) << "at its default";
  // What is shown of a run has it, and nothing that the recipe does not use.
  RunConfig config;
  std::vector<std::string> shown;
  for (const auto& [name, text] : settings_in_effect(config)) shown.push_back(name);
  for (const char* name :
       {"init", "first_bias_epochs", "test_shift", "flip_order", "lookahead_every",
        "lookahead_decay", "decay_form", "norm_bias_rate", "ghost_batch", "rate_points"}) {
    EXPECT_EQ(std::ranges::count(shown, name), 0) << name;
  }
  config.recipe = recipe;
  const auto settings = settings_in_effect(config);
  const SettingText decay{"lookahead_decay", "0.95"}, rate{"norm_bias_rate", "64.0"};
  EXPECT_EQ(std::ranges::count(settings, decay), 1);
  EXPECT_EQ(std::ranges::count(settings, rate), 1);
}

TEST(RecordRecipe, SaysWhatHasNoEffectAndWhy) {
  Recipe recipe = record_settings().get<Recipe>();
  recipe.optimizer = UpdateRule::kAdam;
  recipe.momentum = Recipe().momentum;
  recipe.flip = false;
  recipe.lookahead_every = 0;
  recipe.lookahead_decay = 0.5;
  const std::vector<IdleSetting> idle = {{"decay_form", "per_step", "optimizer = adam"},
                                         {"lookahead_decay", "0.5", "lookahead_every = 0"},
                                         {"flip_order", "alternating", "flip = false"}};
  EXPECT_EQ(idle_settings(recipe), idle);
  EXPECT_EQ(canonical(recipe).flip_order, FlipOrder::kIndependent);
  EXPECT_EQ(canonical(recipe).decay_form, DecayForm::kGradient);
}

TEST(RecordRecipe, IsRefusedWithOneLine) {
  EXPECT_EQ(refusal_of_recipe(record_settings()), "");
  EXPECT_EQ(refusal_of_recipe({{"ema", 0.9}, {"lookahead_every", 5}}),
            "ema and lookahead_every both average the weights; set one of them to 0");
  EXPECT_EQ(refusal_of_recipe({{"flip_order", "odd"}}),
            "recipe: flip_order=odd: expected one of independent, alternating");
  for (const Json& wrong : {Json{{"lookahead_every", -1}}, Json{{"lookahead_decay", 1.5}},
                            Json{{"test_shift", -1}}, Json{{"norm_bias_rate", 0.0}},
                            Json{{"decay_form", "decoupled"}}, Json{{"ghost_batch", -1}}}) {
    EXPECT_NE(refusal_of_recipe(wrong), "") << wrong.dump();
  }
}

// A longer training with slow weights does not begin as a shorter one.
TEST(RecordRecipe, ATrainingThatLooksAheadIsNoBeginningOfALongerOne) {
  Recipe recipe;
  recipe.flip = true;
  recipe.flip_order = FlipOrder::kAlternating;
  EXPECT_TRUE(is_prefix_of_longer(recipe));
  recipe.lookahead_every = 5;
  EXPECT_FALSE(is_prefix_of_longer(recipe));
  recipe.lookahead_every = 0;
  recipe.first_bias_epochs = 3;  // of a shorter training fewer
  EXPECT_FALSE(is_prefix_of_longer(recipe));
}

}  // namespace
}  // namespace approx
