#include "core/data/demands.h"

#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

DatasetOutline small_images(int64_t count) {
  return {"small", {.classes = 10, .channels = 1, .height = 28, .width = 28, .n_train = count}};
}

NetworkInfo network_for(int64_t smallest) {
  NetworkInfo network;
  network.name = "deep";
  network.smallest = smallest;
  return network;
}

// What is refused, "" where all of it can be had.
std::string refusal(const RunConfig& config, const DatasetOutline& dataset,
                    const NetworkInfo& network) {
  try {
    check_demands(config, dataset, network);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(TrainingParts, ATenthIsHeldOutAndFiveThousandAtMost) {
  RunConfig config;
  const auto parts = [&](int64_t count) { return training_parts(config, small_images(count)); };
  EXPECT_EQ(parts(1000).held_out, 100);
  EXPECT_EQ(parts(1000).trained_on, 900);
  EXPECT_EQ(parts(49'999).held_out, 4999);
  EXPECT_EQ(parts(50'000).held_out, 5000);
  EXPECT_EQ(parts(60'000).trained_on, 55'000);
  config.train_examples = 20;
  EXPECT_EQ(parts(1000).held_out, 100);
  EXPECT_EQ(parts(1000).trained_on, 20);
  config = {.split = SplitKind::kPaper};
  EXPECT_EQ(parts(1000).held_out, 0);
  EXPECT_EQ(parts(1000).trained_on, 1000);
}

TEST(Demands, NoMoreImagesThanAreLeftBesideTheHeldOut) {
  RunConfig config{.train_examples = 900};
  EXPECT_EQ(refusal(config, small_images(1000), network_for(1)), "");
  config.train_examples = 901;
  EXPECT_EQ(refusal(config, small_images(1000), network_for(1)),
            "train_examples = 901: small has 900 training images left beside the 100 held out");
  config.split = SplitKind::kPaper;
  EXPECT_EQ(refusal(config, small_images(1000), network_for(1)), "");
  EXPECT_EQ(refusal({}, small_images(0), network_for(1)), "small has no training images left");
}

TEST(Demands, ImagesAreAsLargeAsTheNetworkNeedsThem) {
  EXPECT_EQ(refusal({}, small_images(10), network_for(28)), "");
  EXPECT_EQ(refusal({}, small_images(10), network_for(32)),
            "deep needs images of at least 32x32 pixels, the data set's are 28x28");
}

// Photographs come in the size that the recipe says.
TEST(Demands, TheRecipesSizesCount) {
  auto photographs = small_images(10);
  photographs.photographs = true;
  RunConfig config;
  config.recipe.crop = CropKind::kRandomResized;
  config.recipe.image_size = 64;
  EXPECT_EQ(refusal(config, photographs, network_for(32)), "");
  config.recipe.image_size = 16;
  EXPECT_CONTAINS(refusal(config, photographs, network_for(32)), "16x16");
  EXPECT_CONTAINS(refusal(config, small_images(10), network_for(1)), "recipe.image_size = 16");
}

// 90 images are trained on, in batches of 16: 5 steps an epoch.
TEST(Demands, ScheduleBeginsBeforeTheTrainingEnds) {
  RunConfig config{.method = "zero", .batch_size = 16};
  config.recipe.epochs = 2;
  const auto refused = [&](const Rule& rule, const Rule& other) {
    config.schedule = {rule, other};
    return refusal(config, small_images(100), network_for(1));
  };
  const Rule never{.from = "2ep"};
  EXPECT_EQ(refused(never, {.steps = "11::1"}),
            "nothing would be approximated: the schedule begins with step 10, and the last one is "
            "9");
  EXPECT_EQ(refused(never, {}), "");
  EXPECT_EQ(refused(never, {.from = "9ba"}), "");
  EXPECT_EQ(refused(never, {.from = "plateau"}), "");
  EXPECT_NE(refused(never, {.method = "dense"}), "");
  config.method = "mixed";
  EXPECT_EQ(refused({.method = "zero"}, {.method = "dense"}), "");
  config = {};
  EXPECT_EQ(refusal(config, small_images(100), network_for(1)), "") << "exact";
}

TEST(Demands, AnOutlineSaysOfAnEntryWhatIsLoaded) {
  const auto& entry = Registry<DatasetEntry>::instance().find("mnist14");
  const auto outline = outline_of(entry), loaded = outline_of(open_dataset("mnist14", ""));
  EXPECT_EQ(outline.name, loaded.name);
  EXPECT_EQ(outline.shape, loaded.shape);
  EXPECT_FALSE(outline.photographs || loaded.photographs);
  EXPECT_TRUE(outline_of(Registry<DatasetEntry>::instance().find("imagenet")).photographs);
}

}  // namespace
}  // namespace approx::testing
