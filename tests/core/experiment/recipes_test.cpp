// The recipes that come with the program: each reads, and says what its paper says.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "core/data/dataset.h"
#include "core/data/photo_view.h"
#include "core/experiment/experiment.h"
#include "generated/source_dir.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

Recipe recipe_named(const std::string& name) {
  const std::string text = fmt::format(
      "network = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = \"dense\"\nrecipe = \"{}\"\n",
      name);
  const auto experiment =
      parse_experiment(text, std::string(APPROX_SOURCE_DIR) + "/experiments/x.toml", {},
                       test_catalogue(), [](const std::string&) { return "abc"; });
  return experiment.runs().at(0).config.recipe;
}

TEST(Recipes, EveryOneReads) {
  int count = 0;
  const std::string folder = std::string(APPROX_SOURCE_DIR) + "/experiments/recipes";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    ++count;
    EXPECT_NO_THROW(check(recipe_named(file.path().stem().string()))) << file.path();
  }
  EXPECT_GT(count, 10);
}

TEST(Recipes, SayWhatTheirPapersSay) {
  const auto ye = recipe_named("ye2020_cifar");
  EXPECT_EQ(ye.epochs, 300);
  EXPECT_EQ(ye.decay_epochs, 100);
  const auto wide = recipe_named("adelman2021_wrn");
  EXPECT_EQ(wide.milestones, (std::vector<int64_t>{60, 120, 160}));
  EXPECT_EQ(wide.decay, 0.2);
  EXPECT_FALSE(wide.nesterov);
  const auto mcdanel = recipe_named("mcdanel2022_cifar10");
  EXPECT_EQ(mcdanel.lr_schedule, RateSchedule::kTriangular);
  EXPECT_EQ(mcdanel.cutout, 4);
  EXPECT_TRUE(mcdanel.test_flip);
  // Exempt from decay is what their code calls "bn": in torchvision's RegNet nothing.
  EXPECT_FALSE(recipe_named("mcdanel2022_imagenet_rn18").decay_norm);
  EXPECT_FALSE(recipe_named("mcdanel2022_imagenet_rn50").decay_norm);
  EXPECT_TRUE(recipe_named("mcdanel2022_imagenet_regnet").decay_norm);
  const auto mlp = recipe_named("adelman2021_mnist_mlp");
  EXPECT_EQ(mlp.optimizer, UpdateRule::kAdam);
  EXPECT_EQ(mlp.lr_schedule, RateSchedule::kConstant);
}

TEST(Recipes, WhatLiesBehindTheEndIsSaid) {
  Recipe recipe{.epochs = 8};
  EXPECT_TRUE(beyond_the_end(recipe).empty());
  recipe.lr_schedule = RateSchedule::kMilestones;
  recipe.milestones = {4, 7};
  EXPECT_TRUE(beyond_the_end(recipe).empty());
  recipe.milestones = {4, 8, 12};
  EXPECT_EQ(beyond_the_end(recipe),
            std::vector<std::string>{"milestones 8,12: the training ends after 8 epochs, before "
                                     "the learning rate falls there"});
  recipe = {.lr_schedule = RateSchedule::kTriangular, .peak_epoch = 2, .epochs = 1};
  EXPECT_EQ(beyond_the_end(recipe),
            std::vector<std::string>{"peak_epoch = 2: the training ends after one epoch, while the "
                                     "learning rate still rises"});
  recipe.epochs = 3;
  EXPECT_TRUE(beyond_the_end(recipe).empty());
  recipe = {.lr_schedule = RateSchedule::kStep, .decay_epochs = 8, .warmup_epochs = 9, .epochs = 8};
  EXPECT_EQ(beyond_the_end(recipe).size(), 2u);
  recipe = {.first_bias_epochs = 8, .epochs = 8};
  EXPECT_EQ(beyond_the_end(recipe),
            std::vector<std::string>{"first_bias_epochs = 8: the training ends after 8 epochs, "
                                     "while that bias still trains"});
  recipe = {.epochs = 8, .start_size = 0, .grow_from = 9};
  EXPECT_TRUE(beyond_the_end(recipe).empty()) << "nothing grows";
  recipe.start_size = 16;
  EXPECT_EQ(beyond_the_end(recipe).size(), 1u);
}

// An evaluation cuts its image out of the middle of what is stored: from a side that is shorter
// than its result it would be enlarged.
TEST(Recipes, NoEvaluationOnImageNetEnlargesWhatIsStored) {
  const auto stored = Registry<DatasetEntry>::instance().find("imagenet").photos->shorter_side;
  for (const char* name :
       {"adelman2021_imagenet", "mcdanel2022_imagenet_regnet", "mcdanel2022_imagenet_rn18",
        "mcdanel2022_imagenet_rn50", "ye2020_imagenet"}) {
    const auto recipe = recipe_named(name);
    const int64_t size = recipe.eval_size > 0 ? recipe.eval_size : recipe.image_size;
    EXPECT_GE(centre_box(stored, 2 * stored, size).height, static_cast<double>(size)) << name;
  }
}

}  // namespace
}  // namespace approx
