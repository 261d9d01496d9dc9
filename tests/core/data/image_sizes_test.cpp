#include "core/data/image_sizes.h"

#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

DatasetOutline of_one_size() { return {"small", {.height = 32, .width = 32}}; }

DatasetOutline photographs() {
  return {"photos", {.height = 224, .width = 224}, /*photographs=*/true};
}

std::string sizes_refusal(const Recipe& recipe, const DatasetOutline& dataset) {
  try {
    image_sizes(recipe, dataset);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(ImageSizes, ThoseOfOneSizeStayAsTheyAre) {
  Recipe recipe;
  EXPECT_EQ(image_sizes(recipe, of_one_size()).height, 32);
  EXPECT_EQ(image_sizes(recipe, of_one_size()).at_epoch(7), 32);
  EXPECT_EQ(image_sizes(recipe, of_one_size()).all(), std::vector<int64_t>{32});
  recipe.image_size = recipe.eval_size = 32;
  EXPECT_EQ(sizes_refusal(recipe, of_one_size()), "");
  recipe.image_size = 24;
  EXPECT_EQ(sizes_refusal(recipe, of_one_size()),
            "recipe.image_size = 24: small has images of one size, 32x32; only photographs are cut "
            "and scaled");
  recipe = {};
  recipe.crop = CropKind::kRandomResized;
  EXPECT_CONTAINS(sizes_refusal(recipe, of_one_size()), "recipe.crop = random_resized");
  recipe = {};
  recipe.eval_size = 40;
  EXPECT_CONTAINS(sizes_refusal(recipe, of_one_size()), "recipe.eval_size = 40");
}

// Smaller at first, in steps of four; larger than they are they never become.
TEST(ImageSizes, ThoseOfOneSizeMayBeginSmaller) {
  Recipe recipe;
  recipe.start_size = 18;
  recipe.grow_from = 1;
  recipe.grow_until = 5;
  const auto sizes = image_sizes(recipe, of_one_size());
  std::vector<int64_t> seen;
  for (int64_t epoch = 0; epoch < 7; ++epoch) seen.push_back(sizes.at_epoch(epoch));
  EXPECT_EQ(seen, (std::vector<int64_t>{18, 18, 20, 24, 28, 32, 32}));
  EXPECT_EQ(sizes.all(), (std::vector<int64_t>{18, 32}));
  recipe.start_size = 33;
  EXPECT_EQ(sizes_refusal(recipe, of_one_size()),
            "recipe.start_size = 33: images of small are 32x32 and only become smaller");
  recipe.start_size = 16;
  recipe.grow_until = 0;
  EXPECT_CONTAINS(sizes_refusal(recipe, of_one_size()), "grow_until = 0 is before grow_from = 1");
}

// A pixel further out would be reflected into another image.
TEST(ImageSizes, NoMoreIsReflectedThanThereIs) {
  auto wide = of_one_size();
  wide.shape.width = 40;
  Recipe recipe;
  recipe.padding_mode = PaddingMode::kReflect;
  recipe.crop_padding = 31;
  EXPECT_EQ(sizes_refusal(recipe, wide), "");
  for (const int64_t padding : {32, 64}) {
    recipe.crop_padding = padding;
    EXPECT_CONTAINS(sizes_refusal(recipe, wide),
                    fmt::format("recipe.crop_padding = {}: an image of small, 32x40, has only 31 "
                                "pixels to reflect at a border",
                                padding));
  }
  recipe.padding_mode = PaddingMode::kZero;
  EXPECT_EQ(sizes_refusal(recipe, wide), "");
  recipe.test_shift = 31;
  EXPECT_EQ(sizes_refusal(recipe, wide), "");
  recipe.test_shift = 32;
  EXPECT_EQ(sizes_refusal(recipe, wide),
            "recipe.test_shift = 32: an image of small, 32x40, has only 31 pixels to reflect at a "
            "border; set a smaller one");
  recipe = {.eval_size = 48, .test_shift = 47};
  EXPECT_EQ(sizes_refusal(recipe, photographs()), "");
  recipe.test_shift = 48;
  EXPECT_CONTAINS(sizes_refusal(recipe, photographs()),
                  "recipe.test_shift = 48: an image of photos, 48x48");
}

TEST(ImageSizes, PhotographsHaveTheirOwnUnlessTheRecipeSaysOther) {
  Recipe recipe;
  EXPECT_EQ(image_sizes(recipe, photographs()).height, 224);
  EXPECT_EQ(image_sizes(recipe, photographs()).eval, 224);
  recipe.image_size = 160;
  EXPECT_EQ(image_sizes(recipe, photographs()).width, 160);
  EXPECT_EQ(image_sizes(recipe, photographs()).eval, 160);
  recipe.eval_size = 256;
  EXPECT_EQ(image_sizes(recipe, photographs()).all(), (std::vector<int64_t>{160, 256}));
  recipe.crop_padding = 4;
  EXPECT_CONTAINS(sizes_refusal(recipe, photographs()), "photographs, which are not padded");
  recipe.crop = CropKind::kRandomResized;
  EXPECT_EQ(sizes_refusal(recipe, photographs()), "");
  recipe.crop_scale_max = 0.05;
  EXPECT_CONTAINS(sizes_refusal(recipe, photographs()), "crop_scale_min = 0.08 is above");
}

// The resolutions of FFCV's ResNet-18 for ImageNet, 88 epochs: 160 until epoch 35, 192 from 79 on.
TEST(ImageSizes, GrowInSteps) {
  Recipe recipe;
  recipe.start_size = 160;
  recipe.image_size = 192;
  recipe.grow_from = 35;
  recipe.grow_until = 79;
  const auto sizes = image_sizes(recipe, photographs());
  for (int64_t epoch = 0; epoch < 88; ++epoch) {
    EXPECT_EQ(sizes.at_epoch(epoch), epoch < 57 ? 160 : 192) << epoch;
  }
  recipe.start_size = 64;
  recipe.image_size = 200;  // no multiple of 32: reached at the end alone
  recipe.grow_from = 0;
  recipe.grow_until = 8;
  const auto odd = image_sizes(recipe, photographs());
  std::vector<int64_t> seen;
  for (int64_t epoch = 0; epoch < 10; ++epoch) seen.push_back(odd.at_epoch(epoch));
  EXPECT_EQ(seen, (std::vector<int64_t>{64, 96, 96, 128, 128, 160, 160, 192, 200, 200}));
  EXPECT_EQ(odd.all(), (std::vector<int64_t>{64, 200}));
  recipe.grow_from = recipe.grow_until = 3;
  EXPECT_EQ(image_sizes(recipe, photographs()).at_epoch(2), 64);
  EXPECT_EQ(image_sizes(recipe, photographs()).at_epoch(3), 200);
  recipe.grow_until = 2;
  EXPECT_CONTAINS(sizes_refusal(recipe, photographs()), "grow_until = 2 is before grow_from = 3");
  recipe.start_size = 0;
  EXPECT_CONTAINS(sizes_refusal(recipe, photographs()), "need start_size");
}

}  // namespace
}  // namespace approx::testing
