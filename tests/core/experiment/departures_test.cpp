#include "core/experiment/departures.h"

#include <gtest/gtest.h>

#include "core/experiment/tuning.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

Experiment at_scale(const std::string& text, Scale scale) {
  Overrides overrides;
  overrides.scale = scale;
  return parse_experiment(text, "x.toml", overrides, test_catalogue(),
                          [](const std::string&) { return std::string(); });
}

std::vector<std::string> lines(const std::string& text, Scale scale = Scale::kReduced) {
  return departure_lines(at_scale(text, Scale::kFull), at_scale(text, scale));
}

constexpr const char* kHead = R"(
network = { label = "Net", network = "resnet20" }
dataset = "cifar10"
recipe = { optimizer = "adam", learning_rate = 1e-3, epochs = 250, eval_every = 10 }
split = "paper"
seeds = "0-9"
method = ["dense", "zero"]
schedule = "wang2019_s1"
)";

TEST(Departures, NameEverySettingThatTakesPartAndNoOther) {
  EXPECT_EQ(lines(std::string(kHead) + R"([scale.reduced]
recipe = { momentum = 0.5, weight_decay = 5e-4, label_smoothing = 0.1, epochs = 4 }
train_examples = 5000
split = "holdout"
seeds = [0, 1, 2, 5]
)"),
            std::vector<std::string>{
                "departs from the full setting: split holdout, not paper; train_examples 5000, not "
                "all; train_subset seed; optimizer sgd, not adam; learning_rate 0.1, not 0.001; "
                "momentum 0.5; weight_decay 0.0005, not 0.0; decay_norm true; epochs 4, not 250; "
                "eval_every 1, not 10; label_smoothing 0.1, not 0.0; seeds 0-2,5, not 0-9"});
}

TEST(Departures, SayWhereTheyAreAndWhatIsLeftOut) {
  const std::string text = std::string(kHead) + R"(
extra = [{ label = "Small", method = "dense", network = "resnet14", batch_size = 64 }]
[scale.reduced]
network = { label = "Net", network = "vgg19" }
method = ["dense"]
[[scale.reduced.extra]]
label = "Small"
method = "dense"
network = "resnet14"
batch_size = 32
)";
  EXPECT_EQ(lines(text), (std::vector<std::string>{
                             "departs from the full setting for resnet14: batch_size 32, not 64",
                             "departs from the full setting for Net: network vgg19, not resnet20",
                             "left out of the full setting: zero"}));
}

// A network and a method that are left out everywhere are named once each, not row by row.
TEST(Departures, NameWholeNetworksAndMethodsBeforeSingleRows) {
  const std::string text = R"(
network = ["resnet14", "resnet20", "vgg19"]
dataset = "cifar10"
recipe = { optimizer = "sgd", learning_rate = 0.1 }
method = ["dense", "zero", "random"]
schedule = "wang2019_s1"
[scale.reduced]
network = ["resnet14", "resnet20"]
method = ["dense", "zero"]
)";
  EXPECT_EQ(lines(text), std::vector<std::string>{"left out of the full setting: vgg19; random"});
  EXPECT_EQ(lines(text + R"(exclude = [{ network = "resnet14", method = "zero", reason = "x" }]
)"),
            (std::vector<std::string>{
                "left out of the full setting: vgg19; random; zero, wang2019_s1 on resnet14"}));
}

// Of another network under another name nothing can be held against the full setting.
TEST(Departures, OfOtherRowsAltogether) {
  EXPECT_EQ(
      lines(R"(
network = { label = "Net", network = "resnet20" }
dataset = "cifar10"
method = ["dense", "zero"]
schedule = "wang2019_s1"
[scale.reduced]
network = { label = "Smaller", network = "wang_cnn2" }
)"),
      std::vector<std::string>{"left out of the full setting: all of its rows; others stand here"});
}

TEST(Departures, OfNetworksAndSchedulesOnlyWhatDiffers) {
  EXPECT_EQ(lines(R"(
network = { label = "Net", network = "resnet20" }
dataset = "cifar10"
method = { label = "M", method = "topk_position:k=1,scale=signed" }
schedule = { label = "S", layers = "2::4", until = "plateau:patience=2,delta=0.001" }
[scale.reduced]
method = { label = "M", method = "topk_position:k=8,scale=signed" }
schedule = { label = "S", layers = "2::4", until = "plateau:patience=1,delta=0.005" }
)"),
            std::vector<std::string>{
                "departs from the full setting: method topk_position:k=8, not topk_position:k=1; "
                "schedule layers=2::4 until=plateau:patience=1,delta=0.005, not layers=2::4 "
                "until=plateau:patience=2,delta=0.001"});
}

TEST(Departures, OfTimingsOnlyWhatTheyDependOn) {
  const std::string text = R"(
network = { label = "Net", network = "resnet20" }
dataset = "cifar10"
purpose = ["accuracy", "timing"]
threads = 4
method = { label = "M", method = "topk_position:k=1,scale=signed" }
schedule = { label = "S", layers = "2::4" }
[scale.reduced]
purpose = "accuracy"
threads = 1
[scale.smoke]
threads = 1
)";
  EXPECT_EQ(lines(text), std::vector<std::string>{"not timed, though the full setting is"});
  // Threads change no accuracy.
  EXPECT_EQ(lines(text, Scale::kSmoke),
            std::vector<std::string>{"departs from the full setting: threads 1, not 4"});
}

TEST(Departures, OfStudiesAndBenchmarksToo) {
  const std::string study = R"(
[study]
name = "layer-times"
params = { network = "resnet18", batch-size = 256, device = "cuda" }
[scale.reduced.study]
name = "layer-times"
params = { network = "resnet18", batch-size = 16 }
[scale.smoke]
)";
  EXPECT_EQ(lines(study), std::vector<std::string>{
                              "departs from the full setting: batch-size 16, not 256; device "
                              "as by default, not cuda"});
  EXPECT_EQ(lines(study, Scale::kSmoke),
            std::vector<std::string>{"nothing departs from the full setting"});
  EXPECT_TRUE(lines(study, Scale::kFull).empty());
  EXPECT_EQ(lines(R"(
[kernels]
shapes = "a_list"
[scale.reduced.kernels]
shapes = "a_list"
repetitions = 10
)"),
            std::vector<std::string>{"departs from the full setting: repetitions 10, not 20"});
}

TEST(Departures, ATunedRateIsSaidAsItIsFound) {
  const std::string text = std::string(kHead) + R"([scale.reduced]
recipe = { optimizer = "adam", learning_rate = 0.4, epochs = 250, eval_every = 10 }
tune = { learning_rate = [0.2, 0.1], seeds = 100 }
)";
  const std::vector<std::string> expected = {
      "departs from the full setting: learning_rate tuned for each row on held-out images (of 0.1, "
      "0.2), not 0.001"};
  EXPECT_EQ(lines(text), expected);
  auto untuned = at_scale(text, Scale::kReduced);
  take_tuned_rates(
      untuned, [](const std::string&) { return std::nullopt; }, test_catalogue(),
      [](const std::string&) { return std::string(); });
  EXPECT_EQ(departure_lines(at_scale(text, Scale::kFull), untuned), expected);
}

TEST(Departures, OfTwoRunsAsSettings) {
  RunConfig full, shown;
  full.recipe.optimizer = UpdateRule::kAdam;
  shown.recipe.epochs = 3;
  const auto found = departures(full, shown);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], (Departure{"optimizer", "sgd", "adam"}));
  EXPECT_EQ(found[1], (Departure{"momentum", "0.9", ""}));
  EXPECT_EQ(found[2], (Departure{"epochs", "3", "1"}));
}

}  // namespace
}  // namespace approx
